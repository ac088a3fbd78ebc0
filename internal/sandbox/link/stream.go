package link

import (
	"fmt"
	"io"
	"io/fs"
	"sync"

	"assay/internal/sandbox/frame"
)

// stream is output of a process on its way to its reader. It holds at most a
// window; the supervisor sends more only as the reader takes it.
type stream struct {
	mu       sync.Mutex
	cond     *sync.Cond
	chunks   [][]byte
	held     int // bytes in chunks
	consumed int // bytes taken and not yet credited
	ended    bool
	failure  error
	credit   func(n int)
}

func newStream(credit func(int)) *stream {
	s := &stream{credit: credit}
	s.cond = sync.NewCond(&s.mu)
	return s
}

func (s *stream) push(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held+s.consumed+len(b) > frame.Window {
		return fmt.Errorf("%w: more output than was asked for", frame.ErrProtocol)
	}
	s.chunks = append(s.chunks, b)
	s.held += len(b)
	s.cond.Signal()
	return nil
}

func (s *stream) end(err error) {
	s.mu.Lock()
	s.ended, s.failure = true, err
	s.mu.Unlock()
	s.cond.Broadcast()
}

// Read waits for output. After the last byte it is io.EOF, or the loss of the
// box.
func (s *stream) Read(b []byte) (int, error) {
	n, credit, err := s.take(b)
	if credit > 0 {
		s.credit(credit)
	}
	return n, err
}

func (s *stream) take(b []byte) (n, credit int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(b) == 0 {
		return 0, 0, nil
	}
	for s.held == 0 && !s.ended {
		s.cond.Wait()
	}
	if s.held == 0 {
		if s.failure != nil {
			return 0, 0, s.failure
		}
		return 0, 0, io.EOF
	}
	n = copy(b, s.chunks[0])
	if s.chunks[0] = s.chunks[0][n:]; len(s.chunks[0]) == 0 {
		s.chunks = s.chunks[1:]
	}
	s.held -= n
	s.consumed += n
	if s.consumed >= frame.Window/2 && !s.ended {
		credit, s.consumed = s.consumed, 0
	}
	return n, credit, nil
}

// stdin is input of a process. Write waits while a window is under way.
type stdin struct {
	p      *process
	mu     sync.Mutex
	cond   *sync.Cond
	left   int
	closed bool
}

func newStdin(p *process, open bool) *stdin {
	s := &stdin{p: p, left: frame.Window, closed: !open}
	s.cond = sync.NewCond(&s.mu)
	return s
}

// Write gives fs.ErrClosed when the process reads no more.
func (s *stdin) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n, err := s.reserve(min(len(b)-done, 64<<10))
		if err != nil {
			return done, err
		}
		if err := s.p.b.send(frame.TypeStdin, s.p.id, frame.Stdin{}, b[done:done+n]); err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}

func (s *stdin) reserve(n int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.left == 0 && !s.closed {
		s.cond.Wait()
	}
	if s.closed {
		return 0, fmt.Errorf("write to stdin of a process: %w", fs.ErrClosed)
	}
	n = min(n, s.left)
	s.left -= n
	return n, nil
}

// Close ends the input.
func (s *stdin) Close() error {
	s.mu.Lock()
	was := s.closed
	s.closed = true
	s.mu.Unlock()
	s.cond.Broadcast()
	if was {
		return nil
	}
	return s.p.b.send(frame.TypeStdin, s.p.id, frame.Stdin{EOF: true}, nil)
}

func (s *stdin) credit(n int) {
	s.mu.Lock()
	s.left += n
	s.mu.Unlock()
	s.cond.Broadcast()
}

func (s *stdin) gone() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cond.Broadcast()
}
