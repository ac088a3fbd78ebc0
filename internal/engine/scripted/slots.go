package scripted

import (
	"context"
	"sync"
)

// slots are the places in which requests are worked on. Each keeps the text of its
// last request, which is what its cache holds.
type slots struct {
	free chan struct{} // one value a free slot

	mu       sync.Mutex
	list     []*slot
	deferred int // requests that wait
	tasks    int // requests begun
}

type slot struct {
	id   int
	busy bool
	last int    // order of use: the task that was here last; 0: none
	text string // prompt and answer of the last request

	promptTokens, cached, decoded, seed int64
}

func newSlots(n int) *slots {
	s := &slots{free: make(chan struct{}, n)}
	for i := range n {
		s.list = append(s.list, &slot{id: i})
		s.free <- struct{}{}
	}
	return s
}

// acquire waits for a slot and takes the free one that shares most with the
// prompt, else the one that rested longest. It returns the bytes shared.
func (s *slots) acquire(ctx context.Context, prompt string) (*slot, int, error) {
	s.mu.Lock()
	s.deferred++
	s.mu.Unlock()
	var err error
	select {
	case <-s.free:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.deferred--
	if err != nil {
		return nil, 0, err
	}
	var best *slot
	shared := 0
	for _, c := range s.list {
		if c.busy {
			continue
		}
		n := commonPrefix(c.text, prompt)
		if best == nil || n > shared || n == shared && c.last < best.last {
			best, shared = c, n
		}
	}
	s.tasks++
	best.busy = true
	best.last = s.tasks
	return best, shared, nil
}

// release gives a slot back with what its cache now holds.
func (s *slots) release(c *slot, text string) {
	s.mu.Lock()
	c.busy = false
	c.text = text
	s.mu.Unlock()
	s.free <- struct{}{}
}

// note sets what /slots shows of a slot.
func (s *slots) note(c *slot, promptTokens, cached, decoded, seed int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.promptTokens, c.cached, c.decoded, c.seed = promptTokens, cached, decoded, seed
}

// view copies the slots for printing, and counts the requests that wait.
func (s *slots) view() (list []slot, deferred int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.list {
		v := *c
		v.text = ""
		list = append(list, v)
	}
	return list, s.deferred
}

func (s *slots) busy() int {
	list, _ := s.view()
	n := 0
	for _, c := range list {
		if c.busy {
			n++
		}
	}
	return n
}
