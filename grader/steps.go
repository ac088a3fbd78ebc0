package grader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"assay/internal/bench"
)

// fileMax is the largest file that a check may read or write.
const fileMax = 8 << 20

// serve does what one frame of the judge asks and returns the reply.
func (s *session) serve(ctx context.Context, op string, b []byte, keys []string) (msgReply, error) {
	switch op {
	case "begin_check":
		m, err := request[msgBeginCheck](s, b, keys)
		if err != nil {
			return msgReply{}, err
		}
		return msgReply{Done: true}, s.beginCheck(ctx, m.ID)
	case "result":
		m, err := request[msgResult](s, b, keys)
		if err != nil {
			return msgReply{}, err
		}
		return msgReply{Done: true}, s.result(ctx, m)
	}
	if s.check == nil {
		return msgReply{}, fmt.Errorf("%w: the judge sent %.40q outside a check", errBadFrame, op)
	}
	switch op {
	case "run":
		m, err := request[msgRun](s, b, keys)
		if err != nil {
			return msgReply{}, err
		}
		return s.runCommand(ctx, m)
	case "write":
		m, err := request[msgWrite](s, b, keys)
		if err != nil {
			return msgReply{}, err
		}
		return s.writeFile(ctx, m.Path, m.Data, fs.FileMode(m.Mode)&fs.ModePerm)
	case "mkdir":
		m, err := request[msgMkdir](s, b, keys)
		if err != nil {
			return msgReply{}, err
		}
		return s.writeFile(ctx, m.Path, nil, fs.FileMode(m.Mode)&fs.ModePerm|fs.ModeDir)
	case "symlink":
		m, err := request[msgSymlink](s, b, keys)
		if err != nil {
			return msgReply{}, err
		}
		return s.writeFile(ctx, m.Path, []byte(m.Target), fs.ModeSymlink|fs.ModePerm)
	case "read", "exists":
		m, err := request[msgPath](s, b, keys)
		if err != nil {
			return msgReply{}, err
		}
		return s.readFile(ctx, m.Path, op == "exists")
	case "open":
		m, err := request[msgOpen](s, b, keys)
		if err != nil {
			return msgReply{}, err
		}
		return s.open(ctx, m.Module)
	case "do":
		m, err := request[msgDo](s, b, keys)
		if err != nil {
			return msgReply{}, err
		}
		return s.act(ctx, m)
	case "violation":
		m, err := request[msgViolation](s, b, keys)
		if err != nil {
			return msgReply{}, err
		}
		s.breach(clip(m.Why, 400))
		return msgReply{Done: true}, nil
	}
	return msgReply{}, fmt.Errorf("%w: the judge sent the unknown op %.40q", errBadFrame, op)
}

// numbered is any request of the judge.
type numbered interface{ numbers() (n, lane int) }

func (h head) numbers() (n, lane int) { return h.N, h.Lane }

// request decodes a request and checks that it is the next one of the only lane.
func request[T numbered](s *session, b []byte, keys []string) (T, error) {
	m, err := decode[T](b, keys)
	if err != nil {
		return m, err
	}
	if n, lane := m.numbers(); n != s.n+1 || lane != 0 {
		return m, fmt.Errorf("%w: the judge's request %d of lane %d came where request %d of lane 0 was due", errBadFrame, n, lane, s.n+1)
	}
	s.n++
	return m, nil
}

func (s *session) beginCheck(ctx context.Context, id string) error {
	if s.check != nil {
		return faultf(faultProtocol, "the judge began check %.80q inside %q", id, s.check.id)
	}
	if len(s.results) == len(s.run) || s.run[len(s.results)] != id {
		return faultf(faultProtocol, "the judge began check %.80q, which is not the next one of the frozen set", id)
	}
	s.check = &check{id: id, start: time.Now()}
	if err := s.onBox(ctx, boxWait, func(ctx context.Context) error { return s.candidate.Reset(ctx, s.tree) }); err != nil {
		return fmt.Errorf("lay the candidate's tree: %w", err)
	}
	return nil
}

// result takes the judge's verdict on the running check. A breach of the protocol
// fails it whatever the judge says.
func (s *session) result(ctx context.Context, m msgResult) error {
	c := s.check
	switch {
	case c == nil:
		return faultf(faultProtocol, "the judge gave a verdict on %.80q outside a check", m.ID)
	case m.ID != c.id:
		return faultf(faultProtocol, "the judge gave a verdict on %.80q inside check %q", m.ID, c.id)
	case m.Status != string(bench.CheckPassed) && m.Status != string(bench.CheckFailed):
		return faultf(faultProtocol, "the judge's verdict on %q is the unknown word %.40q", c.id, m.Status)
	}
	s.closeChild(ctx)
	r := bench.CheckResult{ID: c.id, Status: bench.CheckStatus(m.Status), Message: clip(m.Message, messageMax)}
	if c.violation != "" {
		r.Status, r.Flags = bench.CheckFailed, append(r.Flags, bench.FlagProtocolViolation)
		r.Message = clip("a process of the candidate broke the protocol: "+c.violation+"\n"+r.Message, messageMax)
	}
	if c.timedOut && r.Status == bench.CheckFailed {
		r.Flags = append(r.Flags, bench.FlagTimeout)
	}
	r.Elapsed = time.Since(c.start)
	s.results, s.check = append(s.results, r), nil
	return nil
}

func (s *session) runCommand(ctx context.Context, m msgRun) (msgReply, error) {
	if len(m.Argv) == 0 || m.WallMS < 0 {
		return msgReply{}, fmt.Errorf("%w: run with %d arguments and %d ms", errBadFrame, len(m.Argv), m.WallMS)
	}
	limits := s.limits.Process
	if m.WallMS > 0 {
		limits.Wall = min(limits.Wall, time.Duration(m.WallMS)*time.Millisecond)
	}
	left := s.checkLimit() - s.check.used
	if left <= 0 {
		s.check.timedOut = true
		return msgReply{Run: &msgRan{Code: -1, Reason: "check_limit", Message: s.overrun(), Stdout: []byte{}, Stderr: []byte{}}}, nil
	}
	limits.Wall = min(limits.Wall, left)
	var r bench.CommandResult
	start := time.Now()
	err := s.onBox(ctx, limits.Wall+boxWait, func(ctx context.Context) (err error) {
		r, err = s.candidate.Run(ctx, bench.Command{Argv: m.Argv, Dir: m.Cwd, Env: m.Env, Stdin: m.Stdin, Limits: limits})
		return err
	})
	s.check.used += time.Since(start)
	if err != nil {
		return msgReply{}, fmt.Errorf("run %.200q: %w", m.Argv, err)
	}
	if r.Reason == bench.ExitKilled {
		return msgReply{}, faultf(faultBox, "run %.200q: the process was killed, and not by a limit", m.Argv)
	}
	s.noteLimit(r.Reason)
	message := clip(r.Message, 1024)
	if value := limitValue(r.Reason, limits); value != "" {
		message = value
	}
	return msgReply{Run: &msgRan{
		Code: r.Code, Signal: r.Signal, Reason: string(r.Reason), Message: message,
		Stdout: some(r.Stdout), Stderr: some(r.Stderr), WallMS: r.Wall.Milliseconds(),
	}}, nil
}

// some makes an empty slice of a nil one, which JSON would write as null.
func some(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func (s *session) noteLimit(r bench.ExitReason) {
	if r == bench.ExitWallLimit || r == bench.ExitCPULimit {
		s.check.timedOut = true
	}
}

// limitValue is the value of the limit that ended a process; empty: none did.
func limitValue(r bench.ExitReason, l bench.ProcessLimits) string {
	switch r {
	case bench.ExitWallLimit:
		return l.Wall.String()
	case bench.ExitCPULimit:
		return cmp.Or(l.CPU, l.Wall).String() + " of processor time"
	case bench.ExitOutputLimit:
		return fmt.Sprintf("%d bytes on one stream", l.OutputBytes)
	case bench.ExitMemoryLimit:
		if l.MemoryBytes > 0 {
			return fmt.Sprintf("%d bytes", l.MemoryBytes)
		}
	}
	return ""
}

func (s *session) overrun() string {
	return fmt.Sprintf("the candidate has used its %s of this check", s.checkLimit())
}

func (s *session) writeFile(ctx context.Context, path string, data []byte, mode fs.FileMode) (msgReply, error) {
	if err := bench.CheckPath(path); err != nil || len(data) > fileMax {
		return msgReply{}, fmt.Errorf("%w: the judge wants %d bytes at %.200q", errBadFrame, len(data), path)
	}
	err := s.onBox(ctx, boxWait, func(ctx context.Context) error { return s.candidate.WriteFile(ctx, path, data, mode) })
	if err != nil {
		return s.fileError(path, err)
	}
	return msgReply{Done: true}, nil
}

func (s *session) readFile(ctx context.Context, path string, exists bool) (msgReply, error) {
	if err := bench.CheckPath(path); err != nil {
		return msgReply{}, fmt.Errorf("%w: %v", errBadFrame, err)
	}
	var data []byte
	err := s.onBox(ctx, boxWait, func(ctx context.Context) (err error) {
		data, err = s.candidate.ReadFile(ctx, path, fileMax)
		return err
	})
	if exists {
		there := !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
		if err != nil && there {
			// Something is there that cannot be read, or the box failed.
			if _, err := s.fileError(path, err); err != nil {
				return msgReply{}, err
			}
		}
		return msgReply{Exists: &there}, nil
	}
	if err != nil {
		return s.fileError(path, err)
	}
	data = some(data)
	return msgReply{Data: &data}, nil
}

// fileError tells the judge's test what a file operation came to. A lost box, a
// deadline and an ended context stay errors.
func (s *session) fileError(path string, err error) (msgReply, error) {
	var f *fault
	if !errors.As(err, &f) || errors.Is(err, bench.ErrBoxLost) || errors.Is(err, context.DeadlineExceeded) {
		return msgReply{}, err
	}
	errno := syscall.EIO
	switch {
	case errors.As(err, &errno):
	case errors.Is(err, fs.ErrNotExist):
		errno = syscall.ENOENT
	case errors.Is(err, fs.ErrPermission):
		errno = syscall.EACCES
	case errors.Is(err, fs.ErrExist):
		errno = syscall.EEXIST
	}
	return msgReply{OSError: &msgOSError{Errno: int(errno), Path: path}}, nil
}
