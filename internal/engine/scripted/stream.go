package scripted

import (
	"bufio"
	"context"
	"net/http"
	"time"
)

// progressStep is the batch in which a prompt is said to be computed.
const progressStep = 2048

// stream answers a request with server-sent events.
func (s *Server) stream(ctx context.Context, w http.ResponseWriter, r chatRequest, a *answerer) error {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	keepAlive(w)
	w.WriteHeader(http.StatusOK)
	e := &events{
		ctx: ctx, begin: time.Now(), real: a.pace == Real,
		control: http.NewResponseController(w),
		out:     bufio.NewWriterSize(w, 32<<10),
	}
	// Headers go out alone, when the slot begins with the prompt.
	e.wait(0)

	if r.returnProgress {
		e.progress(a)
	}
	for i, t := range a.tokens {
		e.wait(a.at(i))
		for _, c := range a.tokenChunks(i, t, r.timingsPerToken) {
			e.send(c)
		}
	}
	for _, c := range a.endChunks(r.includeUsage) {
		e.send(c)
	}
	e.line("data: [DONE]")
	e.flush()
	return e.err
}

// tokenChunks returns the chunks that appear with token i. The role comes with the
// first one; hidden tokens have none.
func (a *answerer) tokenChunks(i int, t token, withTimings bool) []*chunk {
	var out []*chunk
	if i == 0 {
		out = append(out, a.chunk(nil, roleDelta{Role: "assistant"}))
	}
	switch t.kind {
	case reasoning:
		out = append(out, a.chunk(nil, delta{ReasoningContent: t.raw}))
	case content:
		out = append(out, a.chunk(nil, delta{Content: t.raw}))
	case callStart:
		out = append(out, a.chunk(nil, delta{ToolCalls: []callDelta{{
			Index: t.call, ID: a.callIDs[t.call], Type: "function",
			Function: functionDelta{Name: a.calls[t.call].Name, Arguments: t.raw},
		}}}))
	case callMore:
		out = append(out, a.chunk(nil, delta{ToolCalls: []callDelta{{
			Index: t.call, Function: functionDelta{Arguments: t.raw},
		}}}))
	}
	if withTimings && len(out) > 0 {
		out[len(out)-1].Timings = a.timings(i)
	}
	return out
}

// endChunks returns the finish chunk and, where asked for, the usage chunk; the
// timings ride on the last one.
func (a *answerer) endChunks(includeUsage bool) []*chunk {
	out := []*chunk{a.chunk(&a.finish, struct{}{})}
	if includeUsage {
		c := a.chunk(nil, nil)
		c.Choices = []streamChoice{}
		c.Usage = a.usage()
		out = append(out, c)
	}
	end := out[len(out)-1]
	end.Timings = a.timings(a.last())
	end.Simulated = a.simulated()
	return out
}

func (a *answerer) chunk(finish *string, d any) *chunk {
	return &chunk{
		Choices:           []streamChoice{{FinishReason: finish, Delta: d}},
		Created:           a.created,
		ID:                a.id,
		Model:             a.model,
		SystemFingerprint: Build,
		Object:            "chat.completion.chunk",
	}
}

// events writes a stream. After the first error it does nothing more.
type events struct {
	ctx     context.Context
	begin   time.Time
	real    bool
	control *http.ResponseController
	out     *bufio.Writer
	err     error
}

// wait sends what is there and waits for a moment of the answer; at the instant
// pace it does neither.
func (e *events) wait(at time.Duration) {
	if e.err != nil {
		return
	}
	if !e.real {
		e.err = context.Cause(e.ctx)
		return
	}
	if due := e.begin.Add(at); at == 0 || time.Until(due) > 0 {
		e.flush()
		if e.err == nil {
			e.err = sleepUntil(e.ctx, due)
		}
	}
}

func (e *events) send(c *chunk) {
	if e.err != nil {
		return
	}
	b, err := marshal(c)
	if err != nil {
		e.err = err
		return
	}
	e.line("data: " + string(b))
}

func (e *events) line(s string) {
	if e.err != nil {
		return
	}
	if e.out.Available() < len(s)+2 {
		bound(e.control)
	}
	_, e.err = e.out.WriteString(s + "\n\n")
}

func (e *events) flush() {
	if e.err != nil {
		return
	}
	bound(e.control)
	if e.err = e.out.Flush(); e.err == nil {
		e.err = e.control.Flush()
	}
}

// progress sends the prompt_progress chunks: one at the start, one after each
// batch of the computed prompt.
func (e *events) progress(a *answerer) {
	send := func(processed, us int64) {
		c := a.chunk(nil, roleDelta{Role: "assistant"})
		c.PromptProgress = &progress{Total: a.promptTokens, Cache: a.cached, Processed: processed, TimeMS: us / 1000}
		e.send(c)
	}
	send(a.cached, 0)
	computed := a.promptTokens - a.cached
	for done := int64(0); done < computed; {
		done = min(done+progressStep, computed)
		us := a.promptUS * done / computed
		e.wait(time.Duration(us) * time.Microsecond)
		send(a.cached+done, us)
	}
}
