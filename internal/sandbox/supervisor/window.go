package supervisor

import "sync"

// window is the number of bytes that may still be sent to the host.
type window struct {
	mu     sync.Mutex
	left   int
	closed bool
	more   chan struct{} // of one
}

func newWindow(n int) *window { return &window{left: n, more: make(chan struct{}, 1)} }

// wait returns how much may be sent, at least 1, or 0 once closed.
func (w *window) wait() int {
	for {
		w.mu.Lock()
		n, closed := w.left, w.closed
		w.mu.Unlock()
		if closed {
			return 0
		}
		if n > 0 {
			return n
		}
		<-w.more
	}
}

func (w *window) take(n int) { w.add(-n) }

func (w *window) add(n int) {
	w.mu.Lock()
	w.left += n
	w.mu.Unlock()
	w.signal()
}

// close lets a waiter go: nothing more is to be sent.
func (w *window) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.signal()
}

func (w *window) signal() {
	select {
	case w.more <- struct{}{}:
	default:
	}
}
