package runner

import "context"

// boxAhead starts the next box while an attempt runs, so that no attempt waits
// for one. At most one box is waiting; nobody but its taker ever uses it.
type boxAhead struct {
	boxes  Boxes
	ctx    context.Context
	cancel context.CancelFunc
	coming chan opened // nil: none ordered
}

type opened struct {
	box Box
	err error
}

func newBoxAhead(ctx context.Context, b Boxes) *boxAhead {
	ctx, cancel := context.WithCancel(ctx)
	return &boxAhead{boxes: b, ctx: ctx, cancel: cancel}
}

// next orders a box, unless one is ordered already.
func (a *boxAhead) next() {
	if a.coming != nil {
		return
	}
	c := make(chan opened, 1)
	a.coming = c
	go func() {
		box, err := a.boxes.Open(a.ctx)
		c <- opened{box, err}
	}()
}

// take returns the box that was ordered, or orders it now. It tries twice.
func (a *boxAhead) take(ctx context.Context) (Box, error) {
	a.next()
	o := <-a.coming
	a.coming = nil
	if o.err != nil && ctx.Err() == nil {
		return a.boxes.Open(ctx) // the machine may have been busy; a second failure counts
	}
	return o.box, o.err
}

// close ends the order and closes a box that nobody took.
func (a *boxAhead) close() {
	a.cancel()
	if a.coming == nil {
		return
	}
	if o := <-a.coming; o.err == nil {
		_ = o.box.Close() // never used
	}
	a.coming = nil
}
