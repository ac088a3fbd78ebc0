package supervisor

import (
	"os"
	"sync"

	"assay/internal/sandbox/frame"
)

// input feeds the stdin of one process. The host sends at most a window of
// bytes that the process has not taken, so the queue is bounded.
type input struct {
	p    *process
	file *os.File

	mu     sync.Mutex
	queue  [][]byte
	queued int
	eof    bool
	gone   bool
	more   chan struct{} // of one
	done   chan struct{} // closed when feeding has ended
}

// push takes bytes from the host; false: it sent more than it may.
func (in *input) push(b []byte, eof bool) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.queued+len(b) > frame.Window {
		return false
	}
	if !in.gone {
		if len(b) > 0 {
			in.queue = append(in.queue, b)
			in.queued += len(b)
		}
		in.eof = in.eof || eof
	}
	select {
	case in.more <- struct{}{}:
	default:
	}
	return true
}

// feed runs until the input ends or nobody reads it.
func (in *input) feed() {
	defer close(in.done)
	defer in.file.Close()
	for {
		b, more := in.next()
		if !more {
			return
		}
		if _, err := in.file.Write(b); err != nil {
			in.close()
			in.p.sv.send(frame.TypeStdinGone, in.p.id, nil, nil)
			return
		}
		in.p.sv.send(frame.TypeCredit, in.p.id, frame.Credit{Stdin: len(b)}, nil)
	}
}

func (in *input) next() ([]byte, bool) {
	for {
		in.mu.Lock()
		if in.gone {
			in.mu.Unlock()
			return nil, false
		}
		if len(in.queue) > 0 {
			b := in.queue[0]
			in.queue = in.queue[1:]
			in.queued -= len(b)
			in.mu.Unlock()
			return b, true
		}
		eof := in.eof
		in.mu.Unlock()
		if eof {
			return nil, false
		}
		<-in.more
	}
}

// close ends the feeding; a blocked write ends by the closed file.
func (in *input) close() {
	in.mu.Lock()
	in.gone, in.queue, in.queued = true, nil, 0
	in.mu.Unlock()
	_ = in.file.Close()
	select {
	case in.more <- struct{}{}:
	default:
	}
}
