package docker

import (
	"encoding/binary"
	"fmt"
	"io"

	"assay/internal/sandbox/link"
)

// demux takes the engine's multiplexed stream apart: what the supervisor wrote
// to stdout is read, what came on stderr goes to said. A chunk has a header of
// eight bytes: the stream, three zeros, the length.
type demux struct {
	r    io.Reader
	said *link.Tail
	left int // bytes of a stdout chunk not read yet
}

func (d *demux) Read(b []byte) (int, error) {
	for d.left == 0 {
		var head [8]byte
		if _, err := io.ReadFull(d.r, head[:]); err != nil {
			return 0, err
		}
		n := int(binary.BigEndian.Uint32(head[4:]))
		switch head[0] {
		case 1:
			d.left = n
		case 2:
			if _, err := io.CopyN(d.said, d.r, int64(n)); err != nil {
				return 0, cut(err)
			}
		case 3: // an error of the engine itself
			_, _ = io.CopyN(d.said, d.r, int64(min(n, 4<<10)))
			return 0, fmt.Errorf("the engine broke the stream off: %s", d.said)
		default:
			return 0, fmt.Errorf("the engine sent a chunk of stream %d", head[0])
		}
	}
	n, err := d.r.Read(b[:min(len(b), d.left)])
	if d.left -= n; d.left > 0 {
		err = cut(err)
	}
	return n, err
}

// cut tells an end inside a chunk from one between two.
func cut(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
