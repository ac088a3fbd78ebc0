// Package frame is the protocol between the host and the supervisor of a box:
// length-prefixed frames over one stream in each direction.
//
// A frame is: length of what follows (4 bytes, big endian), type (1), id (4),
// length of the head (4), the head as a JSON object, the payload as raw bytes.
// Every type has one head struct; unknown fields are refused. Names and
// arguments travel as base64, because JSON strings cannot hold arbitrary bytes.
package frame

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Caps of one frame, in bytes.
const (
	MaxHead    = 4 << 20
	MaxPayload = 16 << 20
	fixed      = 1 + 4 + 4
)

// ErrProtocol is wrapped by every error about bytes that are not the protocol.
var ErrProtocol = errors.New("frame protocol broken")

// Frame is one message.
type Frame struct {
	Type    Type
	ID      uint32 // of the request or process that it belongs to
	Head    []byte
	Payload []byte
}

// New makes a frame with its head encoded. It refuses what is over the caps.
func New(t Type, id uint32, head any, payload []byte) (Frame, error) {
	h := []byte("{}")
	if head != nil {
		var err error
		if h, err = json.Marshal(head); err != nil {
			return Frame{}, fmt.Errorf("encode head of %s frame: %w", t, err)
		}
	}
	if len(h) > MaxHead {
		return Frame{}, fmt.Errorf("head of %s frame has %d bytes; at most %d", t, len(h), MaxHead)
	}
	if len(payload) > MaxPayload {
		return Frame{}, fmt.Errorf("payload of %s frame has %d bytes; at most %d", t, len(payload), MaxPayload)
	}
	return Frame{Type: t, ID: id, Head: h, Payload: payload}, nil
}

// prefix is the frame up to its payload.
func (f Frame) prefix() []byte {
	b := make([]byte, 0, 4+fixed+len(f.Head))
	b = binary.BigEndian.AppendUint32(b, uint32(fixed+len(f.Head)+len(f.Payload)))
	b = append(b, byte(f.Type))
	b = binary.BigEndian.AppendUint32(b, f.ID)
	b = binary.BigEndian.AppendUint32(b, uint32(len(f.Head)))
	return append(b, f.Head...)
}

// Send writes one frame. After an error the stream is broken.
func Send(w io.Writer, f Frame) error {
	b := f.prefix()
	if len(f.Payload) <= 64<<10 {
		_, err := w.Write(append(b, f.Payload...))
		return err
	}
	if _, err := w.Write(b); err != nil {
		return err
	}
	_, err := w.Write(f.Payload)
	return err
}

// Receive reads one frame. io.EOF means that the stream ended between two frames.
func Receive(r io.Reader) (Frame, error) {
	var p [4 + fixed]byte
	if _, err := io.ReadFull(r, p[:4]); err != nil {
		return Frame{}, err
	}
	n := int64(binary.BigEndian.Uint32(p[:4]))
	if n < fixed || n > fixed+MaxHead+MaxPayload {
		return Frame{}, fmt.Errorf("%w: length %d", ErrProtocol, n)
	}
	if _, err := io.ReadFull(r, p[4:]); err != nil {
		return Frame{}, unexpected(err)
	}
	f := Frame{Type: Type(p[4]), ID: binary.BigEndian.Uint32(p[5:9])}
	head := int64(binary.BigEndian.Uint32(p[9:13]))
	payload := n - fixed - head
	if !f.Type.known() {
		return Frame{}, fmt.Errorf("%w: type %d", ErrProtocol, f.Type)
	}
	if head > MaxHead || payload < 0 || payload > MaxPayload {
		return Frame{}, fmt.Errorf("%w: %s frame of %d bytes with a head of %d", ErrProtocol, f.Type, n, head)
	}
	var err error
	if f.Head, err = readN(r, head); err != nil {
		return Frame{}, err
	}
	f.Payload, err = readN(r, payload)
	return f, err
}

// readN believes an announced length only as far as bytes come.
func readN(r io.Reader, n int64) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	const step = 1 << 20
	if n <= step {
		b := make([]byte, n)
		_, err := io.ReadFull(r, b)
		return b, unexpected(err)
	}
	var b bytes.Buffer
	b.Grow(step)
	if _, err := io.CopyN(&b, r, n); err != nil {
		return nil, unexpected(err)
	}
	return b.Bytes(), nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Decode reads the head of a frame into its struct: one object, no unknown
// field, nothing behind it.
func Decode[T any](f Frame) (T, error) {
	var v T
	d := json.NewDecoder(bytes.NewReader(f.Head))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return v, fmt.Errorf("%w: head of %s frame: %w", ErrProtocol, f.Type, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return v, fmt.Errorf("%w: bytes behind the head of a %s frame", ErrProtocol, f.Type)
	}
	return v, nil
}
