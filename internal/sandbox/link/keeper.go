package link

import (
	"bytes"
	"fmt"
)

// keeper keeps the head and the tail of what is written to it.
type keeper struct {
	most  int64
	head  []byte
	tail  []byte // ring, once full
	next  int    // of tail
	total int64
}

func (k *keeper) Write(b []byte) (int, error) {
	n := len(b)
	k.total += int64(n)
	room := int(max(k.most-k.most/2-int64(len(k.head)), 0))
	take := min(room, len(b))
	k.head = append(k.head, b[:take]...)
	b = b[take:]
	size := int(k.most / 2)
	if len(b) > size {
		b = b[len(b)-size:]
	}
	for len(b) > 0 && size > 0 {
		if len(k.tail) < size {
			take := min(size-len(k.tail), len(b))
			k.tail = append(k.tail, b[:take]...)
			b = b[take:]
			continue
		}
		take := copy(k.tail[k.next:], b)
		k.next = (k.next + take) % size
		b = b[take:]
	}
	return n, nil
}

// bytes gives all, or head and tail around a mark that counts what is missing.
// With the mark it stays within the limit where that has room for it.
func (k *keeper) bytes() []byte {
	tail := append(bytes.Clone(k.tail[k.next:]), k.tail[:k.next]...)
	if k.total <= k.most {
		return append(bytes.Clone(k.head), tail...)
	}
	head := k.head
	mark := func(missing int64) []byte { return fmt.Appendf(nil, "\n[… %d bytes left out …]\n", missing) }
	over := min(len(mark(k.total)), len(head))
	head = head[:len(head)-over]
	b := append(bytes.Clone(head), mark(k.total-int64(len(head)+len(tail)))...)
	return append(b, tail...)
}
