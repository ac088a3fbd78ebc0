package grader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"assay/internal/bench"
)

const (
	shimPath = "shim.py"
	// graceWait is how long a child may take to end once its input is closed.
	graceWait = 500 * time.Millisecond
)

// boot makes the modules that the shim needs and runs it; the sources come as
// arguments, so that nothing of ours lies in the candidate's workspace.
const boot = `import sys,types
def _load(n,s):
    m=types.ModuleType(n);sys.modules[n]=m;exec(compile(s,"<"+n+">","exec"),m.__dict__)
_a=sys.argv[1:];sys.argv[:]=[""]
_load("_assay_values",_a[0]);_load("_assay_frames",_a[1]);_load("_assay_shim",_a[2])`

// child is the candidate's process of one check with `call` steps.
type child struct {
	peer *peer
	dead string // why it answers no more; empty: it lives
	why  msgLost
}

// end gives the child up.
func (c *child) end(why string) {
	c.peer.close()
	if c.dead == "" {
		c.dead, c.why = why, msgLost{Why: why, Stderr: c.peer.stderr.String()}
	}
}

// breach notes that a candidate's process broke the protocol: the child is killed,
// what it sent after is dropped, and the check fails.
func (s *session) breach(what string) {
	if s.check.violation == "" {
		s.check.violation = what
	}
	if s.check.child != nil {
		s.check.child.end("broke the protocol: " + what)
	}
}

// open starts the child of the running check and lets it import the module.
func (s *session) open(ctx context.Context, module string) (msgReply, error) {
	if s.check.child != nil {
		return msgReply{}, fmt.Errorf("%w: the judge opened a second module in check %q", errBadFrame, s.check.id)
	}
	sources := make([]string, 0, 3)
	for _, path := range []string{"assay/values.py", "assay/frames.py", shimPath} {
		f, _ := s.kit.Get(path)
		sources = append(sources, string(f.Data))
	}
	limits := s.limits.Process
	limits.CPU = cmp.Or(limits.CPU, limits.Wall)
	// The host keeps the child's wall clock, which stands between requests, and its
	// limit on what it prints; its answers have a stream of their own.
	limits.Wall = s.judgeLimit() + s.checkLimit()
	limits.OutputBytes = 1 << 30
	process, err := s.candidate.Start(ctx, bench.Command{
		Argv:   append([]string{python, "-I", "-B", "-c", boot}, sources...),
		Env:    []string{"HOME=/tmp", "LANG=C.UTF-8", "PATH=/usr/bin:/bin"},
		Limits: limits,
	})
	if ctx.Err() != nil {
		return msgReply{}, ctx.Err()
	}
	if err != nil {
		return msgReply{}, faultf(faultBox, "start the candidate's process: %w", err)
	}
	s.check.child = &child{peer: newPeer(process, maxCandidateFrame, s.limits.Process.OutputBytes)}
	return s.ask(ctx, msgImport{Op: "import", N: s.n, Module: module})
}

// act passes one act on an object of the candidate to the child.
func (s *session) act(ctx context.Context, m msgDo) (msgReply, error) {
	if s.check.child == nil || !knownAct(m.Act) || m.Target < 0 {
		return msgReply{}, fmt.Errorf("%w: the judge asked for act %.40q on object %d", errBadFrame, m.Act, m.Target)
	}
	return s.ask(ctx, msgAct{Op: "do", N: s.n, Act: m.Act, Target: m.Target, Name: m.Name, Args: m.Args, Kwargs: m.Kwargs})
}

// ask sends one request to the child and makes the judge's reply of its answer, or
// of its end. The candidate's clock runs in here only.
func (s *session) ask(ctx context.Context, m any) (msgReply, error) {
	c := s.check.child
	if c.dead != "" {
		return msgReply{Lost: &c.why}, nil
	}
	body, err := encode(m)
	if err != nil {
		return msgReply{}, fmt.Errorf("%w: %v", errBadFrame, err)
	}
	wall := min(s.limits.Process.Wall, s.checkLimit()-s.check.used)
	start := time.Now()
	clock, cancel := context.WithTimeout(ctx, max(0, wall))
	defer cancel()
	var answer []byte
	if err = c.peer.send(clock, body); err == nil {
		answer, err = c.peer.receive(clock)
	}
	s.check.used += time.Since(start)
	if ctx.Err() != nil {
		return msgReply{}, ctx.Err()
	}
	switch {
	case err == nil:
		s.rec.add(fromCandidate, answer[:min(len(answer), maxCandidateFrame)])
		a, err := decodeAnswer(answer, s.n)
		if err != nil {
			s.breach(err.Error())
			return msgReply{Lost: &c.why}, nil
		}
		return msgReply{Value: a.Value, Error: a.Error, Refused: clipped(a.Refused), Ended: clipped(a.Ended)}, nil
	case errors.Is(err, context.DeadlineExceeded):
		s.check.timedOut = true
		c.end(fmt.Sprintf("no answer within %s", wall.Round(time.Millisecond)))
		c.why.Limit = string(bench.ExitWallLimit)
		return msgReply{Lost: &c.why}, nil
	case errors.Is(err, errBadFrame):
		s.breach(err.Error())
		return msgReply{Lost: &c.why}, nil
	case !errors.Is(err, io.EOF):
		return msgReply{}, faultf(faultBox, "read from the candidate's process: %w", err)
	}
	return s.childEnded(ctx, c)
}

// childEnded tells the judge how the child ended instead of answering.
func (s *session) childEnded(ctx context.Context, c *child) (msgReply, error) {
	exit, err := c.peer.wait(ctx, graceWait)
	if ctx.Err() != nil {
		return msgReply{}, ctx.Err()
	}
	if err != nil {
		// Either it closed its stream of answers and lives on, which is its own
		// affair, or the box is gone, which the wait or the next use tells.
		if !errors.Is(err, errLingers) {
			return msgReply{}, faultf(faultBox, "the candidate's process ended: %w", err)
		}
		c.end("closed its stream of answers and lived on")
		return msgReply{Lost: &c.why}, nil
	}
	c.end(ending(exit))
	switch {
	case c.peer.stderr.isFlooded():
		c.why.Limit = string(bench.ExitOutputLimit)
		c.why.Why = "it printed more than " + limitValue(bench.ExitOutputLimit, s.limits.Process)
	case exit.Reason != bench.ExitExited && exit.Reason != bench.ExitSignalled && exit.Reason != bench.ExitKilled:
		c.why.Limit = string(exit.Reason)
		if value := limitValue(exit.Reason, s.limits.Process); value != "" {
			c.why.Why += ": " + value
		}
		s.noteLimit(exit.Reason)
	}
	return msgReply{Lost: &c.why}, nil
}

// closeChild ends the child at the end of its check. What it sent beyond its
// answers is a breach of the protocol.
func (s *session) closeChild(ctx context.Context) {
	c := s.check.child
	if c == nil {
		return
	}
	defer c.peer.close()
	if c.dead != "" {
		return
	}
	_ = c.peer.proc.Stdin().Close() // an error means that the process is gone already
	grace, cancel := context.WithTimeout(ctx, graceWait)
	defer cancel()
	b, err := c.peer.receive(grace)
	switch {
	case err == nil:
		s.rec.add(fromCandidate, b[:min(len(b), 64<<10)])
		s.breach("a frame that nothing asked for")
	case errors.Is(err, errBadFrame):
		s.breach(err.Error())
	}
}

func clipped(s *string) *string {
	if s == nil {
		return nil
	}
	t := clip(*s, 2048)
	return &t
}
