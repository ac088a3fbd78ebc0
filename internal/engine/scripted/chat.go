package scripted

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"net/http"
	"time"
)

// chat answers POST /v1/chat/completions.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	body, fail := readBody(w, r)
	if fail != nil {
		s.fail(w, fail)
		return
	}
	req, fail := parseChat(body)
	if fail != nil {
		s.fail(w, fail)
		return
	}
	program, fail := choose(s.profile.Programs, req)
	if fail != nil {
		s.fail(w, fail)
		return
	}
	prompt := req.prompt()
	promptTokens := countTokens(prompt)
	if promptTokens >= s.profile.ContextPerSlot {
		s.fail(w, contextExceeded(int64(promptTokens), int64(s.profile.ContextPerSlot)))
		return
	}
	slot, shared, err := s.slots.acquire(r.Context(), prompt)
	if err != nil {
		return // the client went away, or the server ends
	}
	kept := prompt
	defer func() { s.slots.release(slot, kept) }()
	a, err := play(program, req, room(req, s.profile.ContextPerSlot-promptTokens))
	if err != nil {
		s.fail(w, serverError("%v", err))
		return
	}
	cached := 0
	if req.cachePrompt {
		// The last token is always computed: its output is what is sampled from.
		cached = min(commonTokens(prompt, shared), promptTokens-1)
	}
	run := newRun(s.profile, a, req.seed, int64(promptTokens), int64(cached))
	s.slots.note(slot, run.promptTokens, run.cached, int64(len(run.tokens)), req.seed)
	out := newAnswerer(s.profile, run, body)
	if req.stream {
		err = s.stream(r.Context(), w, req, out)
	} else {
		err = s.whole(r.Context(), w, out)
	}
	if err != nil {
		return
	}
	kept += a.written()
	s.metrics.add(run)
}

// room returns how many tokens an answer may have. At least one is always made.
func room(r chatRequest, context int) int {
	if r.maxTokens == nil || *r.maxTokens < 0 {
		return context
	}
	return int(min(max(*r.maxTokens, 1), int64(context)))
}

// answerer writes the JSON of one run.
type answerer struct {
	run
	created int64
	id      string
	callIDs []string
	model   string
	pace    Pace
}

// newAnswerer names the answer and its calls: looking random, and a function of
// the profile's model and the request's bytes.
func newAnswerer(p Profile, r run, body []byte) *answerer {
	sum := sha256.Sum256(append([]byte(p.Model+"\x00"), body...))
	rng := rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])))
	a := &answerer{run: r, created: time.Now().Unix(), model: p.Model, pace: p.Pace}
	a.id = "chatcmpl-" + randomID(rng)
	for range r.calls {
		a.callIDs = append(a.callIDs, randomID(rng))
	}
	return a
}

func randomID(rng *rand.Rand) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, 32)
	for i := range b {
		b[i] = letters[rng.IntN(len(letters))]
	}
	return string(b)
}

func (a *answerer) last() int { return len(a.tokens) - 1 }

// simulated is set where the time was not spent.
func (a *answerer) simulated() *simulated {
	if a.pace == Real {
		return nil
	}
	return &simulated{ElapsedMS: number(float64(a.elapsed().Microseconds()) / 1000)}
}

// whole answers a request without stream.
func (s *Server) whole(ctx context.Context, w http.ResponseWriter, a *answerer) error {
	if a.pace == Real {
		if err := sleepUntil(ctx, time.Now().Add(a.elapsed())); err != nil {
			return err
		}
	}
	reason, text, args := a.message()
	m := message{Role: "assistant", Content: text, ReasoningContent: reason}
	for i, arguments := range args {
		m.ToolCalls = append(m.ToolCalls, messageCall{
			Type: "function", ID: a.callIDs[i],
			Function: callFunction{Name: a.calls[i].Name, Arguments: arguments},
		})
	}
	s.succeed(w, completion{
		Choices:           [1]choice{{FinishReason: a.finish, Message: m}},
		Created:           a.created,
		Model:             a.model,
		SystemFingerprint: Build,
		Object:            "chat.completion",
		Usage:             a.usage(),
		ID:                a.id,
		Timings:           a.timings(a.last()),
		Simulated:         a.simulated(),
	})
	return nil
}

// sleepUntil waits on a timer; it returns the context's cause when that ends first.
func sleepUntil(ctx context.Context, t time.Time) error {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
