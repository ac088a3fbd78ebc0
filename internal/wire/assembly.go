package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"assay/internal/bench"
)

// assembly puts an answer together from its chunks.
type assembly struct {
	done     bool // the end mark was read
	maxCalls int

	resp      bench.Response // everything but the fields below
	content   think
	reasoning strings.Builder
	refusal   strings.Builder
	tools     tools
	last      pattern

	firstToken, lastToken *time.Duration
	firstTool             *time.Duration // first part of a tool call
}

// event takes the data of one event of a stream.
func (a *assembly) event(data []byte, at time.Duration) *bench.EngineError {
	if a.done {
		return nil
	}
	if isDone(data) {
		a.done = true
		return nil
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	if m, ok := a.last.match(data); ok {
		token, err := a.delta(&m, at)
		if token {
			a.token(at)
		}
		return err
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return malformed("an event", data, err)
	}
	if err := c.fault(200); err != nil {
		return err
	}
	if err := c.check(true); err != nil {
		return err
	}
	token, finish := false, false
	if c.Choices != nil && len(*c.Choices) == 1 {
		ch := &(*c.Choices)[0]
		if ch.Delta != nil {
			t, err := a.delta(ch.Delta, at)
			if err != nil {
				return err
			}
			token = t
		}
		finish = ch.Finish != ""
		a.finish(ch.Finish)
	}
	if token {
		a.token(at)
		a.last.learn(data, &c)
	} else {
		a.last.forget()
	}
	// Timings of a chunk that neither brings a token nor closes the answer are
	// left over from the slot's last request.
	final := token || finish || c.Usage != nil || a.resp.FinishRaw != ""
	a.common(&c, final)
	return nil
}

// token notes an event that brought at least one token.
func (a *assembly) token(at time.Duration) {
	a.resp.TokenEvents++
	stamp(&a.firstToken, at)
	a.lastToken = &at
}

// document takes a whole answer.
func (a *assembly) document(doc []byte) *bench.EngineError {
	var c chunk
	dec := json.NewDecoder(bytes.NewReader(doc))
	if err := dec.Decode(&c); err != nil {
		if isTruncated(err) {
			return cut("the answer ended inside its JSON value")
		}
		return malformed("the answer", doc, err)
	}
	if err := c.fault(200); err != nil {
		return err
	}
	if err := c.check(false); err != nil {
		return err
	}
	if rest := bytes.TrimSpace(doc[dec.InputOffset():]); len(rest) > 0 {
		return protocol("more follows the JSON value of the answer: %q", excerpt(rest, 60))
	}
	ch := &(*c.Choices)[0]
	if _, err := a.delta(ch.Message, 0); err != nil {
		return err
	}
	// A document says nothing about when its tokens came.
	a.content.first, a.content.firstAnswer, a.firstTool = nil, nil, nil
	a.finish(ch.Finish)
	a.common(&c, true)
	a.done = true
	return nil
}

// delta adds the parts of a message and reports whether it brought a token.
func (a *assembly) delta(m *message, at time.Duration) (bool, *bench.EngineError) {
	token := false
	if text, field := m.reasoning(); text != "" {
		token = true
		a.reasoning.WriteString(text)
		if a.resp.ReasoningField == "" {
			a.resp.ReasoningField = field
		}
	}
	if m.Content != "" {
		token = true
		a.content.add(m.Content, at)
	}
	if m.Refusal != "" {
		token = true
		a.refusal.WriteString(m.Refusal)
	}
	for i := range m.ToolCalls {
		some, ok := a.tools.add(&m.ToolCalls[i], a.maxCalls)
		if !ok {
			return token, tooMany("tool calls", a.maxCalls)
		}
		if some {
			token = true
			stamp(&a.firstTool, at)
		}
	}
	return token, nil
}

// reasoning returns the reasoning of a message and the field that held it. A
// server that fills several spellings says the same thing twice.
func (m *message) reasoning() (text, field string) {
	switch {
	case m.ReasoningContent != "":
		return m.ReasoningContent, "reasoning_content"
	case m.Reasoning != "":
		return m.Reasoning, "reasoning"
	case m.Thinking != "":
		return m.Thinking, "thinking"
	}
	return "", ""
}

func (a *assembly) finish(raw string) {
	if raw != "" {
		a.resp.FinishRaw = raw
	}
}

// common takes what may ride on any chunk. The last usage and the last timings
// win whole: their fields are never mixed over chunks.
func (a *assembly) common(c *chunk, final bool) {
	keep(&a.resp.ID, c.ID)
	keep(&a.resp.Model, c.Model)
	keep(&a.resp.Fingerprint, c.Fingerprint)
	if c.Usage != nil {
		a.resp.Usage = c.Usage.bench()
	}
	if t := c.Timings; t != nil && final && *t != (timings{}) {
		b := bench.Timings(*t)
		a.resp.Timings = &b
	}
	if c.Simulated != nil {
		if d := c.Simulated.duration(); d != nil {
			a.resp.Simulated = d
		}
	}
}

// response returns what was understood so far.
func (a *assembly) response() bench.Response {
	r := a.resp
	r.Finish = normalise(r.FinishRaw)
	r.Refusal = a.refusal.String()
	r.ToolCalls = a.tools.list()
	r.Reasoning = a.reasoning.String()
	answer := a.content.first
	r.Text = a.content.all.String()
	if r.ReasoningField == "" {
		if inner, rest, ok := a.content.split(); ok {
			r.Reasoning, r.Text, r.ReasoningField = inner, rest, thinkField
			answer = a.content.firstAnswer
		}
	}
	if u := r.Usage.ReasoningTokens; u != nil && *u == 0 && r.Reasoning != "" {
		// Some servers count none in streams; the text says otherwise.
		r.Usage.ReasoningTokens = nil
	}
	r.Marks.FirstToken, r.Marks.LastToken = a.firstToken, a.lastToken
	r.Marks.FirstAnswer = earlier(answer, a.firstTool)
	return r
}

func normalise(raw string) bench.Finish {
	switch raw {
	case "stop":
		return bench.FinishStop
	case "tool_calls", "function_call":
		return bench.FinishToolCalls
	case "length":
		return bench.FinishLength
	case "content_filter":
		return bench.FinishFilter
	}
	return bench.FinishUnknown
}

func keep(dst *string, v string) {
	if v != "" {
		*dst = v
	}
}

func stamp(dst **time.Duration, at time.Duration) {
	if *dst == nil {
		*dst = &at
	}
}

func earlier(a, b *time.Duration) *time.Duration {
	if a == nil || (b != nil && *b < *a) {
		return b
	}
	return a
}

func isTruncated(err error) bool {
	// A decoder reports a value that the input ends in as an unexpected EOF.
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}
