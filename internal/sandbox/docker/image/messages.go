package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Bounds of an engine's answer, in bytes.
const (
	maxMessage = 1 << 20
	maxAnswer  = 256 << 20
)

// message is one line of an engine's answer to load and pull.
type message struct {
	Stream   string `json:"stream"`
	Status   string `json:"status"`
	ID       string `json:"id"`
	Progress struct {
		Current int64 `json:"current"`
		Total   int64 `json:"total"`
	} `json:"progressDetail"`
	Error       string `json:"error"`
	ErrorDetail *struct {
		Message string `json:"message"`
	} `json:"errorDetail"`
}

// engineError is what an engine said went wrong, by a status or after it had
// answered 200.
type engineError struct{ text string }

func (e *engineError) Error() string { return "the engine says: " + e.text }

// readMessages reads an answer to its end and hands each message over. It returns
// an *engineError when one of them tells of a failure.
func readMessages(r io.Reader, each func(message)) error {
	b := &budget{r: r, total: maxAnswer}
	d := json.NewDecoder(b)
	for {
		b.message = maxMessage
		var m message
		err := d.Decode(&m)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the engine's answer: %w", err)
		}
		if m.ErrorDetail != nil && m.ErrorDetail.Message != "" {
			return &engineError{m.ErrorDetail.Message}
		}
		if m.Error != "" {
			return &engineError{m.Error}
		}
		if m.ErrorDetail != nil {
			return &engineError{"an error without words"}
		}
		if each != nil {
			each(m)
		}
	}
}

// budget ends an answer that is too long in one message or in all.
type budget struct {
	r       io.Reader
	message int64
	total   int64
}

func (b *budget) Read(p []byte) (int, error) {
	if b.message <= 0 {
		return 0, fmt.Errorf("one message has more than %d bytes", maxMessage)
	}
	if b.total <= 0 {
		return 0, fmt.Errorf("it has more than %d bytes", maxAnswer)
	}
	p = p[:min(int64(len(p)), b.message, b.total)]
	n, err := b.r.Read(p)
	b.message -= int64(n)
	b.total -= int64(n)
	return n, err
}
