// Package link is the host's end of a box: it turns the frames of a supervisor
// into a sandbox.Box, whatever kind of box the stream leads into.
package link

import (
	"bufio"
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

// opTime is how long a box may take to answer a request before it is lost.
const opTime = 30 * time.Second

// Conn is the stream to a supervisor and what holds its box. Write may be
// called while Read blocks.
type Conn interface {
	io.Reader
	io.Writer
	// Close ends the box and waits until it is gone. It may be called from
	// several goroutines and more than once.
	Close() error
	// Diagnosis is what the box said on stderr, bounded.
	Diagnosis() string
	// Cause is what is known, after Close, of an end that Close was not the reason
	// of. It may be nil.
	Cause() error
}

// Box speaks with one supervisor.
type Box struct {
	conn Conn
	env  bench.Environment
	opt  sandbox.Options

	counts bool // what the hello said; set before Open returns

	write sync.Mutex // of conn

	mu    sync.Mutex
	next  uint32
	calls map[uint32]chan frame.Frame // of one; abandoned calls stay until answered
	left  []chan struct{}             // of abandoned calls; closed when answered
	procs map[uint32]*process
	lost  error
	gone  chan struct{} // closed when lost is set
	done  chan struct{} // closed when the reading has ended
	close func() error
}

var _ sandbox.Box = (*Box)(nil)

// Open greets the supervisor. It takes conn over and closes it on failure.
func Open(ctx context.Context, conn Conn, opt sandbox.Options, env bench.Environment) (*Box, error) {
	b := &Box{
		conn: conn, env: env, opt: opt, next: 1, calls: map[uint32]chan frame.Frame{}, procs: map[uint32]*process{},
		gone: make(chan struct{}), done: make(chan struct{}),
	}
	b.close = sync.OnceValue(b.shut)
	hello := make(chan error, 1)
	go b.read(hello)
	go func() { // a lost box does not run on until somebody closes it
		<-b.gone
		_ = conn.Close()
	}()
	begin := frame.Begin{DeadlineMS: opt.Deadline.Milliseconds(), Processes: opt.Processes, MemoryBytes: opt.MemoryBytes}
	err := b.send(frame.TypeBegin, 0, begin, nil)
	if err == nil || errors.Is(err, bench.ErrBoxLost) { // the reader may know a better reason
		select {
		case err = <-hello:
		case <-ctx.Done():
			err = ctx.Err()
		case <-time.After(opTime):
			err = &sandbox.LostError{Why: fmt.Sprintf("no hello within %s", opTime), Diagnostic: conn.Diagnosis()}
		}
	}
	if err != nil {
		_ = b.Close()
		return nil, fmt.Errorf("open box: %w", err)
	}
	return b, nil
}

// Environment says where processes of the box run.
func (b *Box) Environment() bench.Environment { return b.env }

// CountsOOM says whether the box knows how many of its processes the kernel
// killed for memory. Where it does not, no exit tells a number.
func (b *Box) CountsOOM() bool { return b.counts }

// Close ends the box. Calls that are under way fail.
func (b *Box) Close() error { return b.close() }

func (b *Box) shut() error {
	b.lose(&sandbox.LostError{Why: "it was closed"})
	err := b.conn.Close()
	<-b.done
	return err
}

// lose makes every call fail from now on; the first reason stays.
func (b *Box) lose(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost != nil {
		return
	}
	b.lost = err
	close(b.gone)
}

// ended loses the box after its stream did not go on. What it said and why it
// ended is complete once it is closed.
func (b *Box) ended(why string, err error) {
	_ = b.conn.Close()
	if cause := b.conn.Cause(); cause != nil {
		err = cause
	}
	b.lose(&sandbox.LostError{Why: why, Diagnostic: b.conn.Diagnosis(), Err: err})
}

func (b *Box) lostError() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost
}

// send writes one frame.
func (b *Box) send(t frame.Type, id uint32, head any, payload []byte) error {
	f, err := frame.New(t, id, head, payload)
	if err != nil {
		return err
	}
	b.write.Lock()
	defer b.write.Unlock()
	if err := b.lostError(); err != nil {
		return err
	}
	if err := frame.Send(b.conn, f); err != nil {
		b.ended("it takes no frames", err)
		return b.lostError()
	}
	return nil
}

// read dispatches frames until the stream ends. It never waits for a consumer.
func (b *Box) read(hello chan<- error) {
	defer close(b.done)
	r := bufio.NewReaderSize(b.conn, 64<<10)
	err := b.greet(r)
	if err == nil {
		hello <- nil
		for err == nil {
			var f frame.Frame
			if f, err = frame.Receive(r); err == nil {
				err = b.dispatch(f)
			}
		}
	}
	why := "its stream ended"
	if errors.Is(err, io.EOF) {
		err = nil
	} else if errors.Is(err, frame.ErrProtocol) {
		why = "it broke the protocol"
	}
	b.ended(why, err)
	select {
	case hello <- b.lostError():
	default:
	}
	for _, p := range b.processes() {
		p.lose()
	}
}

func (b *Box) greet(r io.Reader) error {
	f, err := frame.Receive(r)
	if err != nil {
		return err
	}
	if f.Type != frame.TypeHello {
		return fmt.Errorf("%w: first frame is %s", frame.ErrProtocol, f.Type)
	}
	h, err := frame.Decode[frame.Hello](f)
	b.counts = h.OOMCounter
	if err == nil && h.Version != frame.Version {
		err = fmt.Errorf("%w: supervisor speaks version %d, we %d", frame.ErrProtocol, h.Version, frame.Version)
	}
	return err
}

func (b *Box) processes() []*process {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*process
	for _, p := range b.procs {
		all = append(all, p)
	}
	return all
}

func (b *Box) dispatch(f frame.Frame) error {
	b.mu.Lock()
	call, p := b.calls[f.ID], b.procs[f.ID]
	if call != nil {
		delete(b.calls, f.ID)
	}
	b.mu.Unlock()
	switch {
	case call != nil:
		call <- f
		return nil
	case p != nil:
		return p.receive(f)
	}
	return fmt.Errorf("%w: %s frame for unknown id %d", frame.ErrProtocol, f.Type, f.ID)
}

// call sends a request and waits for its answer. When ctx ends first the answer
// is dropped when it comes.
func (b *Box) call(ctx context.Context, t frame.Type, head any, payload []byte, want frame.Type) (frame.Frame, error) {
	if err := b.settle(ctx); err != nil {
		return frame.Frame{}, err
	}
	ch := make(chan frame.Frame, 1)
	b.mu.Lock()
	id := b.next
	b.next++
	b.calls[id] = ch
	b.mu.Unlock()
	if err := b.send(t, id, head, payload); err != nil {
		b.mu.Lock()
		delete(b.calls, id)
		b.mu.Unlock()
		return frame.Frame{}, err
	}
	timer := time.NewTimer(opTime)
	defer timer.Stop()
	select {
	case f := <-ch:
		return f, b.check(f, want)
	case <-b.gone:
		select {
		case f := <-ch:
			return f, b.check(f, want)
		default:
		}
		return frame.Frame{}, b.lostError()
	case <-ctx.Done():
		b.abandon(ch)
		return frame.Frame{}, ctx.Err()
	case <-timer.C:
		b.lose(&sandbox.LostError{Why: fmt.Sprintf("no answer to %s within %s", t, opTime), Diagnostic: b.conn.Diagnosis()})
		return frame.Frame{}, b.lostError()
	}
}

func (b *Box) check(f frame.Frame, want frame.Type) error {
	err := answer(f, want)
	if errors.Is(err, bench.ErrBoxLost) {
		b.lose(err)
	}
	return err
}
