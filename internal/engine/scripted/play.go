package scripted

import (
	"fmt"
	"slices"
	"strings"
)

// tokenKind says where a token of an answer shows.
type tokenKind int

const (
	hidden    tokenKind = iota // syntax, held back, end: no chunk
	reasoning                  // delta.reasoning_content
	content                    // delta.content
	callStart                  // delta.tool_calls with id, type and name
	callMore                   // delta.tool_calls with arguments only
)

// token is one generated token. Raw is what the model wrote; of hidden tokens it
// is shown only where a cut answer is returned unparsed.
type token struct {
	kind tokenKind
	raw  string
	call int  // index of the call; -1: none
	last bool // ends its call
}

// answer is a turn as played for one request.
type answer struct {
	program string
	turn    int
	tokens  []token
	calls   []Call // names of the calls by index
	finish  string // "stop", "tool_calls", "length"
}

// choose returns the first program that matches the request.
func choose(programs []Program, r chatRequest) (Program, *apiError) {
	task := r.firstUser()
	for _, p := range programs {
		if strings.Contains(task, p.Task) && (len(p.Seeds) == 0 || slices.Contains(p.Seeds, r.seed)) {
			return p, nil
		}
	}
	return Program{}, noProgram(programs, r.seed)
}

// play renders the turn of the program that the request asks for into at most
// room tokens: what max_tokens and the context leave.
func play(p Program, r chatRequest, room int) (answer, error) {
	a := answer{program: p.Name, turn: r.turn()}
	var t Turn // after the last turn: an empty message
	if a.turn < len(p.Turns) {
		t = p.Turns[a.turn]
	}
	a.calls = t.Calls
	tokens, err := turnTokens(t)
	if err != nil {
		return a, fmt.Errorf("program %s, turn %d: %w", p.Name, a.turn+1, err)
	}
	switch {
	case t.Finish == FinishLength && len(tokens) < room:
		a.tokens = spread(tokens, room)
		a.finish = "length"
	case len(tokens) > room || t.Finish == FinishLength:
		a.tokens = tokens[:room]
		a.finish = "length"
	case len(t.Calls) > 0:
		a.tokens = tokens
		a.finish = "tool_calls"
	default:
		a.tokens = tokens
		a.finish = "stop"
	}
	return a, nil
}

// turnTokens returns all tokens of a turn, the end token included.
func turnTokens(t Turn) ([]token, error) {
	var out []token
	part := func(kind tokenKind, pieces []string) {
		for _, s := range pieces {
			out = append(out, token{kind: kind, raw: s, call: -1})
		}
	}
	if t.Reasoning != "" {
		part(hidden, []string{thinkOpen})
		out = append(out, claimed(reasoning, t.Reasoning, t.ReasoningTokens)...)
		part(hidden, []string{thinkClose})
	}
	out = append(out, claimed(content, t.Text, t.TextTokens)...)
	for i, c := range t.Calls {
		args, err := c.arguments()
		if err != nil {
			return nil, err
		}
		for _, s := range tokenize(callOpen(c.Name)) {
			out = append(out, token{kind: hidden, raw: s, call: i})
		}
		// The first delta carries the first character only, as the opening brace
		// is a token of its own in real vocabularies.
		first := 1
		for first < len(args) && args[first]&0xC0 == 0x80 {
			first++
		}
		out = append(out, token{kind: callStart, raw: args[:first], call: i})
		for _, s := range tokenize(args[first:]) {
			out = append(out, token{kind: callMore, raw: s, call: i})
		}
		if t.Finish == FinishLength && i == len(t.Calls)-1 {
			break
		}
		for _, s := range tokenize(callClose) {
			out = append(out, token{kind: hidden, raw: s, call: i})
		}
		out[len(out)-1].last = true
	}
	if t.Finish != FinishLength {
		part(hidden, []string{""})
	}
	return out, nil
}

// claimed cuts a text into n tokens; n = 0 counts them.
func claimed(kind tokenKind, text string, n int) []token {
	pieces := tokenize(text)
	if n == 0 {
		n = len(pieces)
	}
	out := make([]token, n)
	for i := range out {
		from, to := i*len(pieces)/n, (i+1)*len(pieces)/n
		out[i] = token{kind: kind, raw: strings.Join(pieces[from:to], ""), call: -1}
		if from == to {
			out[i].kind = hidden
		}
	}
	return out
}

// spread lays tokens over n > len(tokens) places, hidden ones between them, the
// first at the first place.
func spread(tokens []token, n int) []token {
	out := make([]token, n)
	for i := range out {
		out[i] = token{kind: hidden, call: -1}
	}
	for i, t := range tokens {
		out[i*n/len(tokens)] = t
	}
	return out
}

// message returns the parts of the answer as they are put together at its end.
// Where the answer was cut inside a call, the text is what the model wrote,
// syntax included, and there are no calls.
func (a answer) message() (reason, text string, args []string) {
	var think, plain, raw strings.Builder
	calls := make([]strings.Builder, len(a.calls))
	begun, open := 0, false
	for _, t := range a.tokens {
		switch t.kind {
		case reasoning:
			think.WriteString(t.raw)
			continue
		case content:
			plain.WriteString(t.raw)
		case callStart, callMore:
			calls[t.call].WriteString(t.raw)
			begun = t.call + 1
		}
		if t.call >= 0 {
			open = !t.last
		}
		if t.call >= 0 || t.kind == content {
			raw.WriteString(t.raw)
		}
	}
	if open {
		return think.String(), raw.String(), nil
	}
	for i := range begun {
		args = append(args, calls[i].String())
	}
	return think.String(), plain.String(), args
}

// written returns everything that the model wrote, as the slot caches it.
func (a answer) written() string {
	var b strings.Builder
	for _, t := range a.tokens {
		b.WriteString(t.raw)
	}
	return b.String()
}
