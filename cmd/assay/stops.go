package main

import (
	"context"
	"sync/atomic"
)

// stops turns interrupts into the two ways of stopping: the first closes drain,
// so that the running attempt is finished; the second cancels ctx. Before an
// attempt can be running, the first cancels.
type stops struct {
	ctx     context.Context
	drain   chan struct{}
	running atomic.Bool
	end     func()
}

func listen(s state, out *progress) *stops {
	ctx, cancel := context.WithCancel(context.Background())
	signals, silence := s.signals()
	x := &stops{ctx: ctx, drain: make(chan struct{})}
	done := make(chan struct{})
	x.end = func() {
		close(done)
		silence()
		cancel()
	}
	go func() {
		for n := 0; ; n++ {
			select {
			case <-signals:
			case <-done:
				return
			}
			switch {
			case n == 0 && x.running.Load():
				close(x.drain)
				out.note("interrupted: the running attempt will be finished (its limits bound it); again stops at once")
			case n == 0, n == 1:
				cancel()
				silence() // a further one ends the program as it would any other
				out.note("stopping now")
			}
		}
	}()
	return x
}
