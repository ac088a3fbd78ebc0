package grader

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// excerptHalf is how many bytes of each end of a stream an excerpt keeps.
const excerptHalf = 2048

// excerpt keeps head and tail of a stream and counts all of it.
type excerpt struct {
	mu      sync.Mutex
	head    []byte
	tail    []byte
	total   int64
	flooded bool
}

// add takes bytes and returns how many have come in all.
func (e *excerpt) add(b []byte) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.total += int64(len(b))
	n := min(len(b), excerptHalf-len(e.head))
	e.head = append(e.head, b[:n]...)
	b = b[n:]
	if len(b) > excerptHalf {
		b = b[len(b)-excerptHalf:]
	}
	e.tail = append(e.tail, b...)
	if over := len(e.tail) - excerptHalf; over > 0 {
		e.tail = append(e.tail[:0], e.tail[over:]...)
	}
	return e.total
}

func (e *excerpt) setFlooded() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.flooded = true
}

func (e *excerpt) isFlooded() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.flooded
}

// String is the excerpt as valid UTF-8.
func (e *excerpt) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := string(e.head)
	if cut := e.total - int64(len(e.head)+len(e.tail)); cut > 0 {
		s += fmt.Sprintf("\n[... %d bytes left out ...]\n", cut)
	}
	return strings.ToValidUTF8(s+string(e.tail), "\ufffd")
}

// clip cuts text to at most n bytes of valid UTF-8.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= n {
		return s
	}
	const mark = " [... cut ...]"
	n -= len(mark)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}
