package wire

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// pattern is the short way through the events of a stream. Nearly all of them
// repeat the one before but for the text of one string: the token. A pattern
// holds what stood around that string in an event that was parsed in full. An
// event with the same bytes around one JSON string therefore parses to the same
// values but for that string, and need not be parsed again.
type pattern struct {
	off    bool // tests compare with the long way
	before []byte
	after  []byte
	field  string
	msg    message
}

// learn remembers an event that did nothing but bring one string, or forgets.
func (p *pattern) learn(data []byte, c *chunk) {
	p.forget()
	if p.off || c.Usage != nil || c.Timings != nil || c.Simulated != nil {
		return
	}
	ch := &(*c.Choices)[0]
	if ch.Finish != "" || ch.Delta == nil {
		return
	}
	m := *ch.Delta
	field, value := m.only()
	if field == "" {
		return
	}
	key := []byte(`"` + field + `"`)
	start := bytes.Index(data, key)
	// Keys match in any case and may be written with escapes; an event where that
	// could matter is not learnt.
	if start < 0 || bytes.Count(bytes.ToLower(data), key) != 1 {
		return
	}
	start += len(key)
	if !bytes.HasPrefix(data[start:], []byte(`:"`)) {
		return
	}
	start += len(`:"`)
	end := stringEnd(data, start)
	if end < 0 {
		return
	}
	got, ok := unquote(data, start, end)
	if !ok || got != value || !simple(data[:start]) || !simple(data[end:]) {
		return
	}
	p.before = append(p.before[:0], data[:start]...)
	p.after = append(p.after[:0], data[end:]...)
	p.field, p.msg = field, m
}

// forget is called at every other event: it may have changed what the learnt one
// said beside its string.
func (p *pattern) forget() { p.field = "" }

// simple reports whether keys in b can only be what they look like.
func simple(b []byte) bool {
	for _, c := range b {
		if c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// match returns the message of an event that differs from the learnt one in
// its string alone.
func (p *pattern) match(data []byte) (message, bool) {
	if p.field == "" || len(data) < len(p.before)+len(p.after) || !bytes.HasPrefix(data, p.before) || !bytes.HasSuffix(data, p.after) {
		return message{}, false
	}
	text, ok := unquote(data, len(p.before), len(data)-len(p.after))
	if !ok {
		return message{}, false
	}
	m := p.msg
	switch p.field {
	case "content":
		m.Content = text
	case "reasoning_content":
		m.ReasoningContent = text
	case "reasoning":
		m.Reasoning = text
	case "thinking":
		m.Thinking = text
	case "arguments":
		call := m.ToolCalls[0]
		call.Function.Arguments = arguments(text)
		m.ToolCalls = []toolCall{call}
	}
	return m, true
}

// only returns the one string that a message brings, or "" where it brings
// several or another kind.
func (m *message) only() (field, value string) {
	n := 0
	take := func(name, v string) {
		if v != "" {
			n++
			field, value = name, v
		}
	}
	take("content", m.Content)
	take("reasoning_content", m.ReasoningContent)
	take("reasoning", m.Reasoning)
	take("thinking", m.Thinking)
	if len(m.ToolCalls) == 1 && m.ToolCalls[0].ID == "" && m.ToolCalls[0].Function.Name == "" {
		take("arguments", string(m.ToolCalls[0].Function.Arguments))
	} else if len(m.ToolCalls) > 0 {
		return "", ""
	}
	if n != 1 || m.Refusal != "" {
		return "", ""
	}
	return field, value
}

// stringEnd returns the offset of the quote that ends the JSON string whose text
// begins at start, or -1.
func stringEnd(data []byte, start int) int {
	for i := start; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// unquote decodes the JSON string between its quotes at start-1 and end. It is
// false where the bytes are no single valid string.
func unquote(data []byte, start, end int) (string, bool) {
	text := data[start:end]
	ascii := true
	for _, c := range text {
		if c < 0x20 || c == '"' || c == '\\' {
			var s string
			err := json.Unmarshal(data[start-1:end+1], &s)
			return s, err == nil
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	if !ascii && !utf8.Valid(text) {
		return "", false
	}
	return string(text), true
}
