package grader

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Largest frames: of the judge, either way, and of a candidate's answer. The kit
// knows the same figures.
const (
	maxJudgeFrame     = 16 << 20
	maxCandidateFrame = 8 << 20
)

// errBadFrame is wrapped by what makes a frame a breach of the protocol.
var errBadFrame = errors.New("bad frame")

// readFrame reads one frame: four bytes of length, big endian, then that many
// bytes. io.EOF means that the stream ended between frames.
func readFrame(r io.Reader, limit int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("%w: the stream ended inside the length of a frame", errBadFrame)
		}
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size == 0 || uint64(size) > uint64(limit) {
		return nil, fmt.Errorf("%w: a frame says that it has %d bytes, allowed are 1 to %d", errBadFrame, size, limit)
	}
	// The length is only a claim: memory grows with the bytes that really come.
	body, err := io.ReadAll(io.LimitReader(r, int64(size)))
	if err != nil {
		return nil, err
	}
	if len(body) < int(size) {
		return nil, fmt.Errorf("%w: the stream ended after %d of a frame's %d bytes", errBadFrame, len(body), size)
	}
	return body, nil
}

// frame puts the length before a body.
func frame(body []byte) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, len(body)+4), uint32(len(body)))
	return append(b, body...)
}
