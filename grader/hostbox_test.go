package grader

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/internal/bench"
)

// hostBoxes opens boxes that are plain directories of this machine: no isolation,
// enough for what crosses the relay.
type hostBoxes struct {
	t  testing.TB
	mu sync.Mutex

	candidates, judges int
	candidate          func(n int, b *hostBox) Box // wraps the n-th candidate box, from 1; nil: as it is
}

func (h *hostBoxes) Candidate(context.Context) (Box, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.candidates++
	b := h.open("candidate")
	if h.candidate != nil {
		return h.candidate(h.candidates, b), nil
	}
	return b, nil
}

func (h *hostBoxes) Judge(context.Context) (Box, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.judges++
	return h.open("judge"), nil
}

func (h *hostBoxes) open(kind string) *hostBox {
	return &hostBox{dir: h.t.TempDir(), kind: kind}
}

type hostBox struct {
	dir, kind string
	mu        sync.Mutex
	procs     []*hostProcess
}

func (b *hostBox) Environment() bench.Environment { return bench.Environment{Kind: "host " + b.kind} }

func (b *hostBox) ReadFile(_ context.Context, path string, limit int64) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(b.dir, path))
	if err == nil && int64(len(data)) > limit {
		return nil, fmt.Errorf("%s has %d bytes, over %d", path, len(data), limit)
	}
	return data, err
}

func (b *hostBox) WriteFile(_ context.Context, path string, data []byte, mode fs.FileMode) error {
	full := filepath.Join(b.dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	switch {
	case mode.IsDir():
		return os.MkdirAll(full, mode.Perm())
	case mode&fs.ModeSymlink != 0:
		return os.Symlink(string(data), full)
	}
	if err := os.WriteFile(full, data, 0o600); err != nil {
		return err
	}
	return os.Chmod(full, mode.Perm())
}

func (b *hostBox) Reset(ctx context.Context, tree bench.Tree) error {
	b.sweep()
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(b.dir, e.Name())); err != nil {
			return err
		}
	}
	for _, f := range tree {
		if err := b.WriteFile(ctx, f.Path, f.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (b *hostBox) sweep() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.procs {
		p.Kill()
		<-p.done
	}
	b.procs = nil
}

func (b *hostBox) Close() error {
	b.sweep()
	return nil
}

func (b *hostBox) Start(_ context.Context, c bench.Command) (bench.Process, error) {
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env = filepath.Join(b.dir, c.Dir), c.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p := &hostProcess{cmd: cmd, done: make(chan struct{})}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = outW, errW
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_, _ = outW.Close(), errW.Close()
	p.out, p.err = outR, errR
	p.started = time.Now()
	wall := time.AfterFunc(c.Limits.Wall, func() { p.end(bench.ExitWallLimit) })
	go func() {
		defer close(p.done)
		defer wall.Stop()
		_ = cmd.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		state := cmd.ProcessState.Sys().(syscall.WaitStatus)
		p.exit.Wall = time.Since(p.started)
		p.exit.Code = -1
		switch {
		case p.exit.Reason != "":
		case state.Signaled():
			p.exit.Reason, p.exit.Signal = bench.ExitSignalled, int(state.Signal())
		default:
			p.exit.Reason, p.exit.Code = bench.ExitExited, state.ExitStatus()
		}
	}()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.procs = append(b.procs, p)
	return p, nil
}

func (b *hostBox) Run(ctx context.Context, c bench.Command) (bench.CommandResult, error) {
	started, err := b.Start(ctx, c)
	if err != nil {
		return bench.CommandResult{Exit: bench.Exit{Reason: bench.ExitNotStarted, Code: -1, Message: err.Error()}}, nil
	}
	p := started.(*hostProcess)
	var wg sync.WaitGroup
	var stdout, stderr []byte
	capped := func(r io.Reader, into *[]byte) {
		var b bytes.Buffer
		n, _ := io.Copy(&b, io.LimitReader(r, c.Limits.OutputBytes+1))
		if n > c.Limits.OutputBytes {
			p.end(bench.ExitOutputLimit)
			_, _ = io.Copy(io.Discard, r)
		}
		*into = b.Bytes()
	}
	wg.Go(func() { capped(p.out, &stdout) })
	wg.Go(func() { capped(p.err, &stderr) })
	wg.Go(func() {
		_, _ = p.in.Write(c.Stdin)
		_ = p.in.Close()
	})
	exit, err := p.Wait(ctx)
	p.Kill()
	wg.Wait()
	return bench.CommandResult{Exit: exit, Stdout: stdout, Stderr: stderr}, err
}

type hostProcess struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	out, err *os.File
	done     chan struct{}
	started  time.Time

	mu   sync.Mutex
	exit bench.Exit
}

func (p *hostProcess) Stdin() io.WriteCloser { return p.in }
func (p *hostProcess) Stdout() io.Reader     { return p.out }
func (p *hostProcess) Stderr() io.Reader     { return p.err }
func (p *hostProcess) Kill()                 { p.end(bench.ExitKilled) }

func (p *hostProcess) end(why bench.ExitReason) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.done:
	default:
		if p.exit.Reason == "" {
			p.exit.Reason = why
		}
	}
	// The group, so that no grandchild holds a stream open; an error: all are gone.
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
}

func (p *hostProcess) Wait(ctx context.Context) (bench.Exit, error) {
	select {
	case <-p.done:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.exit, nil
	case <-ctx.Done():
		return bench.Exit{}, ctx.Err()
	}
}

// errLost is what a lost box answers.
var errLost = fmt.Errorf("the supervisor is gone: %w", bench.ErrBoxLost)
