package wire

import (
	"strings"
	"time"
)

// thinkField is the ReasoningField of reasoning that came as tags inside content.
const thinkField = "think"

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// think collects content and finds one <think>…</think> block at its start.
// Tags further inside are text: code about such tags must survive. A block that
// is never closed is reasoning to its end.
//
// Split gives back exactly what came between and after the tags, so that the
// block can be replayed as it was sent.
type think struct {
	all         strings.Builder
	first       *time.Duration // first content
	firstAnswer *time.Duration // first content outside the block
	state       thinkState
	scanned     int // content before this offset needs no second look
	after       int // offset of the content after the block
}

type thinkState int

const (
	thinkMaybe  thinkState = iota // only blanks or a part of the opening tag so far
	thinkNone                     // content starts with something else
	thinkInside                   // the opening tag came
	thinkAfter                    // the closing tag came
)

func (t *think) add(s string, at time.Duration) {
	t.all.WriteString(s)
	stamp(&t.first, at)
	if t.state == thinkMaybe {
		t.open()
	}
	if t.state == thinkInside && t.close() {
		s = t.all.String()[t.after:]
	}
	if t.state == thinkAfter && t.firstAnswer == nil && strings.TrimSpace(s) != "" {
		t.firstAnswer = &at
	}
}

func (t *think) open() {
	all := t.all.String()
	s := strings.TrimLeft(all[t.scanned:], " \t\r\n")
	t.scanned = len(all) - len(s)
	switch {
	case strings.HasPrefix(s, thinkOpen):
		t.state = thinkInside
		t.scanned += len(thinkOpen)
	case !strings.HasPrefix(thinkOpen, s):
		t.state = thinkNone
	}
}

// close looks for the closing tag and reports whether it came.
func (t *think) close() bool {
	all := t.all.String()
	if i := strings.Index(all[t.scanned:], thinkClose); i >= 0 {
		t.state, t.after = thinkAfter, t.scanned+i+len(thinkClose)
		return true
	}
	// The tag may be cut by the end of what has come.
	t.scanned = max(t.scanned, len(all)-len(thinkClose)+1)
	return false
}

func (t *think) split() (inner, rest string, ok bool) {
	all := t.all.String()
	switch t.state {
	case thinkInside:
		return all[strings.Index(all, thinkOpen)+len(thinkOpen):], "", true
	case thinkAfter:
		return all[strings.Index(all, thinkOpen)+len(thinkOpen) : t.after-len(thinkClose)], all[t.after:], true
	}
	return "", "", false
}
