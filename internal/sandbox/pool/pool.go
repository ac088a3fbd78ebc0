// Package pool keeps boxes started ahead, so that nobody waits for a start. A
// box that was taken never comes back.
package pool

import (
	"context"
	"errors"
	"sync"
	"time"

	"assay/internal/sandbox"
)

// checkTime bounds the question whether a waiting box still lives.
const checkTime = 2 * time.Second

// Opener opens boxes: a factory of one kind.
type Opener interface {
	Open(context.Context, sandbox.Options) (sandbox.Box, error)
}

// Pool keeps boxes of one kind with the same options.
type Pool struct {
	from    Opener
	options sandbox.Options
	size    int
	oldest  time.Duration // a box that waited longer is not handed out

	ctx    context.Context // of starts ahead
	stop   context.CancelFunc
	starts sync.WaitGroup

	mu      sync.Mutex
	ready   []waiting
	pending int // starts under way
	closed  bool
}

type waiting struct {
	box   sandbox.Box
	since time.Time
}

// New starts size boxes ahead. A box counts its own deadline from its start, so
// one that has waited for half of it is replaced.
func New(from Opener, o sandbox.Options, size int) (*Pool, error) {
	o, err := o.WithDefaults()
	if err != nil {
		return nil, err
	}
	p := &Pool{from: from, options: o, size: size, oldest: o.Deadline / 2}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.fill()
	return p, nil
}

// Take returns a box that nobody has used, one that waits or a fresh one. The
// caller closes it.
func (p *Pool) Take(ctx context.Context) (sandbox.Box, error) {
	defer p.fill()
	for {
		w, ok, closed := p.pop()
		if closed {
			return nil, errors.New("the pool of boxes is closed")
		}
		if !ok {
			return p.from.Open(ctx, p.options)
		}
		if time.Since(w.since) < p.oldest && p.lives(ctx, w.box) {
			return w.box, nil
		}
		_ = w.box.Close() // it is lost or too old: how it ends is no news
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// pop takes the box that has waited longest.
func (p *Pool) pop() (w waiting, ok, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.ready) == 0 {
		return waiting{}, false, p.closed
	}
	w = p.ready[0]
	p.ready = p.ready[1:]
	return w, true, false
}

func (p *Pool) lives(ctx context.Context, b sandbox.Box) bool {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	return b.Sweep(ctx) == nil
}

// fill starts what is missing. A start that fails is not tried again before the
// next Take, whose own start tells its caller why.
func (p *Pool) fill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ; !p.closed && len(p.ready)+p.pending < p.size; p.pending++ {
		p.starts.Go(p.start)
	}
}

func (p *Pool) start() {
	b, err := p.from.Open(p.ctx, p.options)
	p.mu.Lock()
	p.pending--
	keep := err == nil && !p.closed
	if keep {
		p.ready = append(p.ready, waiting{b, time.Now()})
	}
	p.mu.Unlock()
	if err == nil && !keep {
		_ = b.Close()
	}
}

// Close ends the boxes that wait. Taken ones belong to their takers.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop()
	p.starts.Wait()
	p.mu.Lock()
	left := p.ready
	p.ready = nil
	p.mu.Unlock()
	var errs []error
	for _, w := range left {
		errs = append(errs, w.box.Close())
	}
	return errors.Join(errs...)
}
