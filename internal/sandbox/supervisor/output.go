package supervisor

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"assay/internal/sandbox/frame"
)

const (
	chunk = 32 << 10
	// silence is how long a stream may stay quiet after the end of its process
	// before it is given up: children may hold it open for ever.
	silence = 100 * time.Millisecond
	// afterEnd bounds what such children can still write. The largest pipe that
	// an ordinary user may set up holds as much.
	afterEnd = 1 << 20
)

// output forwards one stream of a process.
type output struct {
	p     *process
	typ   frame.Type
	file  *os.File
	win   *window
	total atomic.Int64
	ended atomic.Bool
	done  chan struct{}
}

// pipe makes a stream: our end pollable, the other blocking, as programs expect
// of their stdout.
func pipe(ours int) (end *os.File, theirs int, err error) {
	var fds [2]int
	if err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC); err != nil {
		return nil, 0, err
	}
	if err := syscall.SetNonblock(fds[ours], true); err != nil {
		_, _ = syscall.Close(fds[0]), syscall.Close(fds[1])
		return nil, 0, err
	}
	return os.NewFile(uintptr(fds[ours]), "pipe"), fds[1-ours], nil
}

// forward runs until the stream ends, is given up, or its reader wants no more.
func (o *output) forward() {
	defer close(o.done)
	defer o.file.Close()
	buf := make([]byte, chunk)
	late := int64(afterEnd)
	for {
		n := o.win.wait()
		if n == 0 {
			return
		}
		ended := o.ended.Load()
		if ended {
			_ = o.file.SetReadDeadline(time.Now().Add(silence))
		}
		n, err := o.file.Read(buf[:min(n, len(buf))])
		if n > 0 {
			o.win.take(n)
			o.p.sv.send(o.typ, o.p.id, nil, buf[:n])
			if total := o.total.Add(int64(n)); total > o.p.outputBytes {
				o.p.end(reasonOutput, false)
				return
			}
			if ended {
				late -= int64(n)
			}
		}
		if late <= 0 || err != nil && (!errors.Is(err, os.ErrDeadlineExceeded) || ended) {
			return
		}
	}
}

// finish is told when the process has ended.
func (o *output) finish() {
	o.ended.Store(true)
	_ = o.file.SetReadDeadline(time.Now()) // wakes a read that waits for more
	<-o.done
}
