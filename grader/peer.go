package grader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"assay/internal/bench"
)

// endWait is how long an ended or killed process may take to be gone.
const endWait = 5 * time.Second

var (
	errClosed  = errors.New("process closed") // by us
	errLingers = errors.New("the process has closed its output and lives on")
)

// peer is a process that speaks frames over its standard streams. Three
// goroutines of its own read, write and collect; close ends them.
type peer struct {
	proc   bench.Process
	frames chan []byte // unbuffered: what nobody asked for waits in the pipe
	ended  error       // why frames is closed; io.EOF: the stream ended between frames
	writes chan []byte
	stop   chan struct{}
	once   sync.Once
	wg     sync.WaitGroup
	stderr *excerpt
}

// newPeer takes over a started process. Over stderrMax bytes on standard error it
// is killed.
func newPeer(proc bench.Process, frameMax int, stderrMax int64) *peer {
	p := &peer{
		proc: proc, frames: make(chan []byte), writes: make(chan []byte), stop: make(chan struct{}),
		stderr: &excerpt{},
	}
	p.wg.Go(func() { p.read(frameMax) })
	p.wg.Go(p.write)
	p.wg.Go(func() { p.collect(stderrMax) })
	return p
}

func (p *peer) read(frameMax int) {
	// The rest of the stream has to be read for the process to be waited for.
	defer func() { _, _ = io.Copy(io.Discard, p.proc.Stdout()) }()
	defer close(p.frames)
	for {
		b, err := readFrame(p.proc.Stdout(), frameMax)
		if err != nil {
			p.ended = err
			if errors.Is(err, errBadFrame) {
				p.proc.Kill()
			}
			return
		}
		select {
		case p.frames <- b:
		case <-p.stop:
			p.ended = errClosed
			return
		}
	}
}

func (p *peer) write() {
	for {
		select {
		case b := <-p.writes:
			if _, err := p.proc.Stdin().Write(b); err != nil {
				// The process has closed its input: that it ends shows on its output.
				continue
			}
		case <-p.stop:
			return
		}
	}
}

func (p *peer) collect(limit int64) {
	b := make([]byte, 32<<10)
	for {
		n, err := p.proc.Stderr().Read(b)
		if p.stderr.add(b[:n]) > limit {
			p.stderr.setFlooded()
			p.proc.Kill()
		}
		if err != nil {
			return
		}
	}
}

// send hands a frame over to the writer.
func (p *peer) send(ctx context.Context, body []byte) error {
	select {
	case p.writes <- frame(body):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// receive returns the next frame, or why there is none: the context's error, or
// what ended the stream.
func (p *peer) receive(ctx context.Context) ([]byte, error) {
	select {
	case b, ok := <-p.frames:
		if !ok {
			return nil, p.ended
		}
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// wait returns the end of a process whose stream has ended; errLingers after d.
func (p *peer) wait(ctx context.Context, d time.Duration) (bench.Exit, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	exit, err := p.proc.Wait(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return exit, fmt.Errorf("%w after %s", errLingers, d)
	}
	return exit, err
}

// close kills the process and waits, within endWait, for it and the goroutines.
func (p *peer) close() {
	p.once.Do(func() {
		close(p.stop)
		p.proc.Kill()
		ctx, cancel := context.WithTimeout(context.Background(), endWait)
		defer cancel()
		// Whatever Wait says, the process is given up: losing its box shows at the next use.
		_, _ = p.proc.Wait(ctx)
		gone := make(chan struct{})
		go func() { p.wg.Wait(); close(gone) }()
		select {
		case <-gone:
		case <-ctx.Done():
		}
	})
}
