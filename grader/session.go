package grader

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"assay/internal/bench"
)

const (
	python         = "/usr/bin/python3"
	acceptancePath = "fixture/acceptance.py"
	boxWait        = 30 * time.Second // one operation on a box that runs no candidate code
	messageMax     = 10 << 10         // bytes of a check's message
	judgeStderrMax = 64 << 20         // bytes that a fixture may print
)

// faultKind says what ended a session before its end frame.
type faultKind string

const (
	faultOpen     faultKind = "open"     // a box could not be opened
	faultBox      faultKind = "box"      // a box was lost or gave an error of its own
	faultJudge    faultKind = "judge"    // the judge died, said that it failed, or overran its deadline
	faultProtocol faultKind = "protocol" // the judge's frames are not those of a whole, ordered run
)

// fault is the end of a session without a verdict on what was left. Whose fault it
// is, the rules decide.
type fault struct {
	kind faultKind
	err  error
}

func (f *fault) Error() string { return fmt.Sprintf("%s: %v", f.kind, f.err) }
func (f *fault) Unwrap() error { return f.err }

func faultf(kind faultKind, format string, args ...any) *fault {
	return &fault{kind: kind, err: fmt.Errorf(format, args...)}
}

// boxes are the two boxes of a session.
type boxes struct {
	candidate, judge Box
}

// session is one judge process that runs some checks of a fixture against one
// tree. It is driven by one goroutine.
type session struct {
	boxes
	fixture bench.Fixture
	limits  bench.FixtureLimits
	tree    bench.Tree
	kit     bench.Tree
	secret  []byte
	rec     *recorder

	nonce     string
	judgePeer *peer
	judgeUsed time.Duration // on the judge's clock: it stands while a request is served
	n         int           // number of the last request
	run       []string
	results   []bench.CheckResult
	check     *check // the running check; nil between checks
}

// check is what the host knows of the running check.
type check struct {
	id        string
	start     time.Time
	child     *child
	used      time.Duration // on the candidate's clock
	timedOut  bool
	violation string // a candidate's process broke the protocol: what it did
}

// do runs the checks and returns the verdicts in order. The error is a *fault, then
// the verdicts are of the checks before it, or the context's.
func (s *session) do(ctx context.Context, run []string) ([]bench.CheckResult, error) {
	s.run = run
	nonce := make([]byte, 16)
	if _, err := rand.Read(nonce); err != nil {
		return nil, fmt.Errorf("draw a nonce: %w", err)
	}
	s.nonce = hex.EncodeToString(nonce)
	err := s.start(ctx)
	if err == nil {
		err = s.loop(ctx)
	}
	if s.check != nil && s.check.child != nil {
		s.check.child.peer.close()
	}
	if s.judgePeer != nil {
		s.judgePeer.close()
		if f := (*fault)(nil); errors.As(err, &f) && f.kind != faultBox {
			if text := s.judgePeer.stderr.String(); text != "" {
				f.err = fmt.Errorf("%w; the judge printed: %s", f.err, clip(text, 2048))
			}
		}
	}
	if ctx.Err() != nil {
		return s.results, ctx.Err()
	}
	return s.results, err
}

func (s *session) start(ctx context.Context) error {
	var files []bench.File
	for _, f := range s.kit {
		if f.Path != shimPath {
			files = append(files, f)
		}
	}
	tree, err := bench.NewTree(append(files, bench.File{Path: acceptancePath, Data: s.fixture.Acceptance}))
	if err != nil {
		return faultf(faultOpen, "lay the kit: %w", err)
	}
	if err := s.onBox(ctx, boxWait, func(ctx context.Context) error { return s.judge.Reset(ctx, tree) }); err != nil {
		return fmt.Errorf("judge's box: %w", err)
	}
	process, err := s.judge.Start(ctx, bench.Command{
		Argv: []string{python, "-I", "-S", "-B", "judge.py"},
		Env:  []string{"HOME=/tmp", "LANG=C.UTF-8", "PATH=/usr/bin:/bin"},
		Limits: bench.ProcessLimits{
			// The host keeps the judge's clock; these only bound a host that is gone.
			Wall: s.judgeLimit() + time.Duration(len(s.run))*s.checkLimit() + time.Minute,
			CPU:  s.judgeLimit() + time.Minute, OutputBytes: 4 << 30,
		},
	})
	if err != nil {
		return faultf(faultBox, "start the judge: %w", err)
	}
	s.judgePeer = newPeer(process, maxJudgeFrame, judgeStderrMax)
	ids := make([]string, len(s.fixture.Checks))
	for i, c := range s.fixture.Checks {
		ids[i] = c.ID
	}
	return s.toJudge(ctx, msgBegin{
		Op: "begin", Schema: 1, Acceptance: acceptancePath, Frozen: ids, Run: s.run,
		Secret: hex.EncodeToString(s.secret), Nonce: s.nonce,
	})
}

// loop serves the judge until its end frame.
func (s *session) loop(ctx context.Context) error {
	for {
		b, err := s.fromJudge(ctx)
		if err != nil {
			return err
		}
		op, keys, err := opOf(b)
		if err != nil {
			return &fault{faultProtocol, err}
		}
		switch op {
		case "end":
			return s.end(b, keys)
		case "fault":
			m, err := decode[msgFault](b, keys)
			if err != nil {
				return &fault{faultProtocol, err}
			}
			return faultf(faultJudge, "%s", clip(m.Message, messageMax))
		}
		reply, err := s.serve(ctx, op, b, keys)
		if errors.Is(err, errBadFrame) {
			return &fault{faultProtocol, err}
		}
		if err != nil {
			return err
		}
		reply.Op, reply.N = "reply", s.n
		if err := s.toJudge(ctx, reply); err != nil {
			return err
		}
	}
}

// end checks the judge's last frame: every check has its verdict, the count is
// theirs, and the nonce is the one of this session.
func (s *session) end(b []byte, keys []string) error {
	m, err := decode[msgEnd](b, keys)
	switch {
	case err != nil:
		return &fault{faultProtocol, err}
	case s.check != nil || len(s.results) != len(s.run):
		return faultf(faultProtocol, "the judge ended after %d of %d checks", len(s.results), len(s.run))
	case m.Count != len(s.run):
		return faultf(faultProtocol, "the judge counts %d checks, the host %d", m.Count, len(s.run))
	case m.Nonce != s.nonce:
		return faultf(faultProtocol, "the end frame's nonce is wrong")
	}
	return nil
}

func (s *session) toJudge(ctx context.Context, m any) error {
	b, err := encode(m)
	if err != nil {
		return faultf(faultJudge, "encode a frame for the judge: %w", err)
	}
	if len(b) > maxJudgeFrame {
		return faultf(faultJudge, "a frame of %d bytes for the judge is over the limit of %d", len(b), maxJudgeFrame)
	}
	s.rec.add(fromHost, b)
	ctx, cancel := context.WithTimeout(ctx, boxWait)
	defer cancel()
	if err := s.judgePeer.send(ctx, b); err != nil {
		return faultf(faultJudge, "the judge did not take a frame within %s: %w", boxWait, err)
	}
	return nil
}

// fromJudge waits for the judge's next frame on the judge's clock.
func (s *session) fromJudge(ctx context.Context) ([]byte, error) {
	start := time.Now()
	defer func() { s.judgeUsed += time.Since(start) }()
	left, cancel := context.WithTimeout(ctx, max(0, s.judgeLimit()-s.judgeUsed))
	defer cancel()
	b, err := s.judgePeer.receive(left)
	switch {
	case err == nil:
		s.rec.add(fromJudge, b)
		return b, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return nil, faultf(faultJudge, "judge_seconds %g fired", s.judgeLimit().Seconds())
	case errors.Is(err, errBadFrame):
		return nil, &fault{faultProtocol, err}
	case !errors.Is(err, io.EOF):
		return nil, faultf(faultBox, "read from the judge: %w", err)
	}
	exit, err := s.judgePeer.wait(ctx, endWait)
	kind := faultJudge
	if err != nil {
		if !errors.Is(err, errLingers) {
			kind = faultBox
		}
		return nil, faultf(kind, "the judge ended without an end frame: %w", err)
	}
	if s.check == nil && len(s.results) == len(s.run) {
		kind = faultProtocol
	}
	return nil, faultf(kind, "the judge ended without an end frame: %s", ending(exit))
}

// onBox does something on a box within a deadline. Every error is a fault of kind
// box, or the context's.
func (s *session) onBox(ctx context.Context, wait time.Duration, do func(context.Context) error) error {
	inner, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := do(inner)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case inner.Err() != nil:
		return faultf(faultBox, "no answer within %s: %w", wait, err)
	}
	return &fault{faultBox, err}
}

// judgeLimit is how long the judge may run on its own clock in a session.
func (s *session) judgeLimit() time.Duration {
	return time.Duration(s.limits.JudgeSeconds * float64(time.Second))
}

// checkLimit is how long the candidate may run in one check: a few processes that
// each use their whole wall limit.
func (s *session) checkLimit() time.Duration { return 6 * s.limits.Process.Wall }

// ending says how a process ended.
func ending(e bench.Exit) string {
	switch e.Reason {
	case bench.ExitExited:
		return fmt.Sprintf("exit code %d", e.Code)
	case bench.ExitSignalled:
		return fmt.Sprintf("signal %d", e.Signal)
	case bench.ExitNotStarted:
		return "not started: " + clip(e.Message, 300)
	}
	return string(e.Reason)
}
