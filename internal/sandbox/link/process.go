package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"
	"assay/internal/sandbox/frame"
)

// process is the host's view of one process.
type process struct {
	b        *Box
	id       uint32
	out, err *stream
	in       *stdin
	ended    chan struct{} // closed after exit is set, or when the box is lost
	exit     bench.Exit
	failure  error
	stop     func() bool // takes the kill at the end of ctx back
	killOnce sync.Once
}

var _ bench.Process = (*process)(nil)

// Start starts a process with streams.
func (b *Box) Start(ctx context.Context, c bench.Command) (bench.Process, error) {
	if c.Stdin != nil {
		return nil, errors.New("start a process: Stdin bytes are for Run; write to the stream instead")
	}
	return b.start(ctx, c, true, false)
}

func (b *Box) start(ctx context.Context, c bench.Command, streamed, sweep bool) (*process, error) {
	if err := b.settle(ctx); err != nil {
		return nil, err
	}
	head, err := startHead(c, streamed, sweep)
	if err != nil {
		return nil, err
	}
	p := &process{b: b, ended: make(chan struct{})}
	b.mu.Lock()
	p.id = b.next
	b.next++
	p.out = newStream(func(n int) { _ = b.send(frame.TypeCredit, p.id, frame.Credit{Stdout: n}, nil) })
	p.err = newStream(func(n int) { _ = b.send(frame.TypeCredit, p.id, frame.Credit{Stderr: n}, nil) })
	p.in = newStdin(p, streamed)
	b.procs[p.id] = p
	b.mu.Unlock()
	if err := b.send(frame.TypeStart, p.id, head, nil); err != nil {
		b.forget(p)
		return nil, fmt.Errorf("start %q: %w", c.Argv[0], err)
	}
	stop := context.AfterFunc(ctx, p.Kill)
	p.b.mu.Lock()
	p.stop = stop
	p.b.mu.Unlock()
	return p, nil
}

func startHead(c bench.Command, streamed, sweep bool) (frame.Start, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return frame.Start{}, errors.New("a command needs arguments")
	}
	h := frame.Start{Stdin: streamed, Sweep: sweep}
	var err error
	if c.Dir != "" && c.Dir != "." {
		if h.Dir, err = clean("chdir", c.Dir); err != nil {
			return h, err
		}
	}
	for _, list := range []struct {
		from []string
		to   *[][]byte
	}{{c.Argv, &h.Argv}, {c.Env, &h.Env}} {
		for _, s := range list.from {
			for i := range len(s) {
				if s[i] == 0 {
					return h, fmt.Errorf("argument or variable %q holds a NUL byte", s)
				}
			}
			*list.to = append(*list.to, []byte(s))
		}
	}
	l := c.Limits
	if l.Wall <= 0 {
		l.Wall = sandbox.DefaultWall
	}
	if l.CPU <= 0 {
		l.CPU = l.Wall
	}
	if l.OutputBytes <= 0 {
		l.OutputBytes = sandbox.DefaultOutputBytes
	}
	if l.OpenFiles <= 0 {
		l.OpenFiles = sandbox.DefaultOpenFiles
	}
	h.Limits = frame.Limits{
		WallMS: max(l.Wall.Milliseconds(), 1), CPUSeconds: int64((l.CPU + time.Second - 1) / time.Second), OutputBytes: l.OutputBytes,
		MemoryBytes: l.MemoryBytes, FileBytes: l.FileBytes, Processes: l.Processes, OpenFiles: l.OpenFiles,
	}
	return h, nil
}

func (p *process) Stdin() io.WriteCloser { return p.in }
func (p *process) Stdout() io.Reader     { return p.out }
func (p *process) Stderr() io.Reader     { return p.err }

// Kill asks for the end of the process; Wait tells it. Unread output is lost.
func (p *process) Kill() {
	p.killOnce.Do(func() {
		_ = p.b.send(frame.TypeKill, p.id, nil, nil)
	})
}

// Wait returns the end of the process.
func (p *process) Wait(ctx context.Context) (bench.Exit, error) {
	select {
	case <-p.ended:
		return p.exit, p.failure
	case <-ctx.Done():
		select {
		case <-p.ended:
			return p.exit, p.failure
		default:
		}
		return bench.Exit{}, ctx.Err()
	}
}

// receive takes a frame of the process. Only the reader of the box calls it.
func (p *process) receive(f frame.Frame) error {
	switch f.Type {
	case frame.TypeStdout:
		return p.out.push(f.Payload)
	case frame.TypeStderr:
		return p.err.push(f.Payload)
	case frame.TypeCredit:
		c, err := frame.Decode[frame.Credit](f)
		if err == nil {
			p.in.credit(c.Stdin)
		}
		return err
	case frame.TypeStdinGone:
		p.in.gone()
		return nil
	case frame.TypeExit:
		h, err := frame.Decode[frame.Exit](f)
		if err != nil {
			return err
		}
		p.finish(exitOf(h), nil)
		return nil
	case frame.TypeFail:
		h, err := frame.Decode[frame.Fail](f)
		if err != nil {
			return err
		}
		p.finish(bench.Exit{Reason: bench.ExitNotStarted, Code: -1, Message: failed(h).Error()}, nil)
		return nil
	}
	return fmt.Errorf("%w: %s frame for a process", frame.ErrProtocol, f.Type)
}

func exitOf(h frame.Exit) bench.Exit {
	var kills *int
	if h.OOMKills != nil {
		n := int(*h.OOMKills)
		kills = &n
	}
	return bench.Exit{
		Reason: bench.ExitReason(h.Reason), Code: h.Code, Signal: h.Signal, Message: h.Message,
		Wall: time.Duration(h.WallUS) * time.Microsecond, CPU: time.Duration(h.CPUUS) * time.Microsecond,
		StdoutBytes: h.StdoutBytes, StderrBytes: h.StderrBytes, OOMKills: kills,
	}
}

// lose ends the process with its box.
func (p *process) lose() { p.finish(bench.Exit{}, p.b.lostError()) }

func (p *process) finish(x bench.Exit, err error) {
	p.b.forget(p)
	p.exit, p.failure = x, err
	p.out.end(err)
	p.err.end(err)
	p.in.gone()
	close(p.ended)
}

func (b *Box) forget(p *process) {
	b.mu.Lock()
	delete(b.procs, p.id)
	stop := p.stop
	b.mu.Unlock()
	if stop != nil {
		stop()
	}
}
