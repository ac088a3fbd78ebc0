package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/internal/bench"
)

func raws(kv ...string) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for i := 0; i < len(kv); i += 2 {
		out[kv[i]] = json.RawMessage(kv[i+1])
	}
	return out
}

var request = bench.Request{Messages: []bench.Message{{Role: bench.RoleUser, Content: "hi"}}, MaxOutputTokens: 16, Seed: 7}

// The exact bytes of a request whose sampler settings are all zero.
func TestBodyGolden(t *testing.T) {
	f := &fake{}
	zero := 0.0
	c := start(t, f, bench.Arm{
		Sampling:  bench.Sampling{Temperature: &zero, TopP: ptr(0.95), TopK: ptr[int64](0), MinP: &zero, RepeatPenalty: ptr(1.0), PresencePenalty: &zero},
		ExtraBody: raws("reasoning_effort", `"low"`, "chat_template_kwargs", `{ "enable_thinking" : false }`, "cache_prompt", "true"),
	}, Options{})
	r, err := c.Respond(t.Context(), bench.Request{
		Messages: []bench.Message{
			{Role: bench.RoleSystem, Content: "a < b"},
			{Role: bench.RoleUser, Content: "go"},
			{Role: bench.RoleAssistant, Reasoning: "hm", ReasoningField: "reasoning_content", ToolCalls: []bench.ToolCall{{ID: "1", Name: "run", Arguments: `{"x": 1}`}}},
			{Role: bench.RoleTool, ToolCallID: "1"},
			{Role: bench.RoleAssistant, Content: "x", Reasoning: "r", ReasoningField: "reasoning"},
			{Role: bench.RoleAssistant, Reasoning: "r", ReasoningField: "thinking"},
			{Role: bench.RoleAssistant, Content: "\nx", Reasoning: "\nr\n", ReasoningField: "think"},
		},
		Tools:           []bench.Tool{{Name: "run", Description: "runs", Parameters: json.RawMessage(`{"type":"object"}`)}},
		MaxOutputTokens: 0,
		Seed:            0,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"tiny-stories","messages":[` +
		`{"role":"system","content":"a < b"},` +
		`{"role":"user","content":"go"},` +
		`{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"id":"1","type":"function","function":{"name":"run","arguments":"{\"x\": 1}"}}]},` +
		`{"role":"tool","content":"","tool_call_id":"1"},` +
		`{"role":"assistant","content":"x","reasoning":"r"},` +
		`{"role":"assistant","content":"","thinking":"r"},` +
		`{"role":"assistant","content":"<think>\nr\n</think>\nx"}],` +
		`"stream":true,` +
		`"tools":[{"function":{"name":"run","description":"runs","parameters":{"type":"object"}},"type":"function"}],` +
		`"stream_options":{"include_usage":true},"max_tokens":0,"seed":0,` +
		`"temperature":0,"top_k":0,"top_p":0.95,"min_p":0,"repeat_penalty":1,"presence_penalty":0,` +
		`"cache_prompt":true,"chat_template_kwargs":{"enable_thinking":false},"reasoning_effort":"low"}`
	if diff := cmp.Diff(want, f.bodies[0]); diff != "" {
		t.Errorf("body sent:\n%s", diff)
	}
	if string(r.RequestBody) != f.bodies[0] {
		t.Errorf("body kept differs: %s", r.RequestBody)
	}
}

func TestStripReplaysNoReasoning(t *testing.T) {
	f := &fake{}
	c := start(t, f, bench.Arm{Replay: bench.ReplayStrip}, Options{})
	for _, field := range []string{"reasoning_content", "reasoning", "thinking", "think"} {
		m := bench.Message{Role: bench.RoleAssistant, Content: "x", Reasoning: "SECRET", ReasoningField: field}
		if _, err := c.Respond(t.Context(), bench.Request{Messages: []bench.Message{m}}); err != nil {
			t.Fatal(err)
		}
	}
	if all := strings.Join(f.bodies, "\n"); len(f.bodies) != 4 || strings.Contains(all, "SECRET") {
		t.Error(all)
	}
}

// Every recorded 200 stream, played over a real connection, is kept byte for
// byte and read as package wire reads it.
func TestRespondPlaysRecordings(t *testing.T) {
	var body []byte
	f := &fake{chat: func(w http.ResponseWriter, r *http.Request) {
		for rest := body; len(rest) > 0; { // in pieces, as a server sends them
			n := min(len(rest), 1000)
			_, _ = w.Write(rest[:n])
			_ = http.NewResponseController(w).Flush()
			rest = rest[n:]
		}
	}}
	c := start(t, f, bench.Arm{}, Options{})
	n := 0
	for _, r := range recordings(t) {
		if r.Status != 200 || !strings.HasPrefix(r.Name, "base/chat-") {
			continue
		}
		n++
		body = r.Body
		got, err := c.Respond(t.Context(), request)
		if err != nil || !got.Complete || !bytes.Equal(got.Raw, r.Body) || got.RawTotal != int64(len(r.Body)) || got.Status != 200 {
			t.Errorf("%s: error %v, complete %v, %d raw bytes of %d", r.Name, err, got.Complete, len(got.Raw), len(r.Body))
			continue
		}
		m := got.Marks
		if m.Start.IsZero() || m.FirstByte == nil || m.End == nil || *m.FirstByte <= 0 || *m.End < *m.FirstByte || *m.End > time.Minute {
			t.Errorf("%s: marks %+v", r.Name, m)
		}
		if (got.TokenEvents > 0) != (m.FirstToken != nil) {
			t.Errorf("%s: %d token events, first token %v", r.Name, got.TokenEvents, m.FirstToken)
		}
	}
	if n < 30 {
		t.Errorf("%d recordings played", n)
	}
	// llama-server sometimes closes a connection right after an answer, without a
	// word: no call may rely on the connection of the one before it.
	seen := map[string]bool{}
	for _, addr := range f.remotes {
		if seen[addr] {
			t.Fatalf("the connection %s was used again", addr)
		}
		seen[addr] = true
	}
	if h := f.headers[0]; h.Get("Accept-Encoding") != "" || h.Get("User-Agent") != "assay" || h.Get("Authorization") != "" {
		t.Errorf("headers %v", h)
	}
}

func TestRespondFaults(t *testing.T) {
	const token = `{"choices":[{"index":0,"delta":{"content":"hi"}}]}`
	const end = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	abort := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, body)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	tests := []struct {
		name  string
		chat  http.HandlerFunc
		fault bench.EngineFault // empty: none
		text  string
		check func(*bench.EngineError) bool
	}{
		{"end mark, then the connection breaks", abort(stream(token, end) + "data: [DONE]\n\n"), "", "hi", nil},
		{"cut after the finish reason", abort(stream(token, end)), bench.FaultCut, "hi", func(e *bench.EngineError) bool { return e.Err != nil }},
		{"clean end without end mark", text(200, stream(token, end)), bench.FaultCut, "hi", func(e *bench.EngineError) bool { return e.Err == nil }},
		{"cut before the first token", abort(""), bench.FaultCut, "", nil},
		{"connection dropped before any answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, bench.FaultUnreachable, "", nil},
		{"error object", text(200, stream(token, `{"error":{"code":500,"message":"oops","type":"server_error"}}`)), bench.FaultServer, "hi", func(e *bench.EngineError) bool { return e.Message == "oops" }},
		{"unparsable output", text(500, `{"error":{"code":500,"message":"Failed to parse input at pos 12: x","type":"server_error"}}`), bench.FaultUnparsable, "", nil},
		{"context exceeded", text(400, `{"error":{"code":400,"message":"request (9 tokens) exceeds the available context size (8 tokens)","type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":8}}`),
			bench.FaultContextExceeded, "", func(e *bench.EngineError) bool { return *e.PromptTokens == 9 && *e.ContextSize == 8 }},
		{"unauthorised", text(401, `{"error":{"message":"bad key sk-secret"}}`), bench.FaultUnauthorised, "", func(e *bench.EngineError) bool { return e.Message == "bad key [key]" }},
		{"forbidden", text(403, ``), bench.FaultUnauthorised, "", nil},
		{"not found", text(404, `nothing here`), bench.FaultNotFound, "", func(e *bench.EngineError) bool { return e.Message == "nothing here" }},
		{"rate limited", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "65")
			text(429, `{"error":"slow down"}`)(w, r)
		}, bench.FaultRateLimited, "", func(e *bench.EngineError) bool { return e.RetryAfter == 65*time.Second && e.Message == "slow down" }},
		{"loading", text(503, `{"error":{"message":"Loading model"}}`), bench.FaultLoading, "", nil},
		{"server", text(500, `{"error":{"message":"x"}}`), bench.FaultServer, "", nil},
		{"rejected", text(400, `{"error":{"message":"'messages' is required"}}`), bench.FaultRejected, "", nil},
		{"redirect", text(307, ``), bench.FaultProtocol, "", nil},
		{"HTML", text(200, `<html></html>`), bench.FaultProtocol, "", nil},
		{"another protocol", text(200, stream(`{"content":"x","stop":false}`)), bench.FaultProtocol, "", func(e *bench.EngineError) bool { return strings.Contains(e.Message, "native /completion") }},
		{"too large", text(200, stream(token)+strings.Repeat(": ping\n\n", 4096)), bench.FaultTooLarge, "hi", func(e *bench.EngineError) bool {
			return strings.Contains(e.Message, "answer_bytes of 16384 bytes (set for this client)")
		}},
		{"a document that is cut", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "200")
			_, _ = io.WriteString(w, `{"choices":[{"index":0,"message":{"content":"hi"}}]}`)
		}, bench.FaultCut, "hi", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, &fake{chat: tt.chat}, bench.Arm{KeyEnv: "K"}, Options{RawCap: 16384, Getenv: func(string) string { return "sk-secret" }})
			r, err := c.Respond(t.Context(), request)
			if tt.fault == "" {
				if err != nil || !r.Complete || r.Text != tt.text {
					t.Errorf("error %v, response %+v", err, r)
				}
				return
			}
			e := faultOf(t, err)
			if e.Fault != tt.fault || r.Text != tt.text || r.Complete || e.URL != c.chatURL() || e.Status != r.Status || len(r.RequestBody) == 0 {
				t.Errorf("error %v (%+v), text %q, complete %v", err, e, r.Text, r.Complete)
			}
			if tt.check != nil && !tt.check(e) {
				t.Errorf("error %+v", e)
			}
			if strings.Contains(fmt.Sprintf("%v %s", err, r.Raw), "sk-secret") {
				t.Errorf("the key is in %v or %s", err, r.Raw)
			}
			if int64(len(r.Raw)) > 16384 {
				t.Errorf("%d raw bytes kept", len(r.Raw))
			}
		})
	}
}

func TestKeyIsSent(t *testing.T) {
	f := &fake{}
	c := start(t, f, bench.Arm{KeyEnv: "K"}, Options{Getenv: func(name string) string { return map[string]string{"K": "sk-1"}[name] }})
	if _, err := c.Respond(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if got := f.headers[0].Get("Authorization"); got != "Bearer sk-1" {
		t.Errorf("Authorization %q", got)
	}
}

func TestRespondEndsWithItsContext(t *testing.T) {
	sent := make(chan struct{})
	f := &fake{chat: func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, stream(`{"choices":[{"index":0,"delta":{"content":"part"}}]}`))
		_ = http.NewResponseController(w).Flush()
		close(sent)
		<-r.Context().Done()
	}}
	c := start(t, f, bench.Arm{}, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-sent; cancel() }()
	r, err := c.Respond(ctx, request)
	if !errors.Is(err, context.Canceled) || r.Complete {
		t.Errorf("error %v, complete %v", err, r.Complete)
	}
}

// Pings count as life: a stream of nothing but pings outlasts the idle limit
// many times, silence ends it.
func TestIdle(t *testing.T) {
	for _, tt := range []struct {
		name  string
		pings int
		done  bool
	}{{"silent at once", 0, false}, {"pings, then silence", 20, false}, {"pings, then an answer", 20, true}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{}
				f.chat = func(w http.ResponseWriter, r *http.Request) {
					for range tt.pings {
						time.Sleep(25 * time.Second)
						_, _ = io.WriteString(w, ":\n\n")
						_ = http.NewResponseController(w).Flush()
					}
					if !tt.done {
						<-r.Context().Done()
						return
					}
					_, _ = io.WriteString(w, stream(`{"choices":[{"index":0,"delta":{"content":"hi"}}]}`)+"data: [DONE]\n\n")
				}
				c, err := Open(t.Context(), bench.Arm{URL: "http://memory"}, Options{Idle: 30 * time.Second, dial: memory(t, f)})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				began := time.Now()
				r, err := c.Respond(t.Context(), request)
				took := time.Since(began)
				pinged := time.Duration(tt.pings) * 25 * time.Second
				if tt.done {
					if err != nil || r.Text != "hi" || took != pinged || *r.Marks.FirstToken != pinged || *r.Marks.FirstByte != 25*time.Second {
						t.Errorf("error %v after %s, marks %+v", err, took, r.Marks)
					}
					return
				}
				e := faultOf(t, err)
				if e.Fault != bench.FaultIdle || took != pinged+30*time.Second || !strings.Contains(e.Message, "30s") {
					t.Errorf("error %v after %s", err, took)
				}
			})
		})
	}
}

// A server that keeps the connection open after the end mark or an error holds
// nobody up.
func TestSettledAnswerEndsTheWait(t *testing.T) {
	for last, fault := range map[string]bench.EngineFault{"[DONE]": "", `{"error":{"message":"x"}}`: bench.FaultServer} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{chat: func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, stream(`{"choices":[{"index":0,"delta":{"content":"hi"}}]}`, last))
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}}
			c, err := Open(t.Context(), bench.Arm{URL: "http://memory"}, Options{dial: memory(t, f)})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			began := time.Now()
			r, err := c.Respond(t.Context(), request)
			if took := time.Since(began); took != linger || r.Text != "hi" || r.Complete != (fault == "") {
				t.Errorf("error %v after %s, response %+v", err, took, r)
			}
			if (err == nil) != (fault == "") || (err != nil && faultOf(t, err).Fault != fault) {
				t.Errorf("error %v, want fault %q", err, fault)
			}
		})
	}
}

func TestSimulatedTimeIsHandedOn(t *testing.T) {
	f := &fake{chat: text(200, stream(`{"choices":[{"index":0,"delta":{"content":"hi"}}]}`, `{"choices":[],"simulated":{"elapsed_ms":1500.5}}`)+"data: [DONE]\n\n")}
	r, err := start(t, f, bench.Arm{}, Options{}).Respond(t.Context(), request)
	if err != nil || r.Simulated != nil {
		t.Errorf("a server that is not ours sets the clock: error %v, simulated %v", err, r.Simulated)
	}
	f.props = text(200, `{"assay_scripted":true}`)
	r, err = start(t, f, bench.Arm{}, Options{}).Respond(t.Context(), request)
	if err != nil || r.Simulated == nil || *r.Simulated != 1500500*time.Microsecond {
		t.Errorf("error %v, simulated %v", err, r.Simulated)
	}
}

func TestBuildIsLearntFromAnAnswer(t *testing.T) {
	f := &fake{props: text(404, ""), chat: text(200, stream(`{"system_fingerprint":"fp","choices":[{"index":0,"delta":{"content":"hi"}}]}`)+"data: [DONE]\n\n")}
	c := start(t, f, bench.Arm{}, Options{})
	if _, err := c.Respond(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	o, err := c.Observe(t.Context())
	if err != nil || o.Build != "fp" || c.Observed().Build != "fp" {
		t.Errorf("error %v, build %q", err, o.Build)
	}
}

// The cap leaves room for the longest answer that is asked for, and says where it
// comes from.
func TestCapFollowsMaxOutputTokens(t *testing.T) {
	for _, tt := range []struct {
		opts Options
		want int64
		says string
	}{
		{Options{}, 32 << 20, "the larger of 33554432 bytes and 1024 for each of max_output_tokens 0"},
		{Options{MaxOutputTokens: 32_000}, 32 << 20, "max_output_tokens 32000"},
		{Options{MaxOutputTokens: 200_000}, 200_000 << 10, "max_output_tokens 200000"},
		{Options{MaxOutputTokens: 200_000, RawCap: 5}, 5, "set for this client"},
	} {
		if o := tt.opts.withDefaults(); o.RawCap != tt.want || !strings.Contains(o.capOrigin, tt.says) {
			t.Errorf("%+v: cap %d, %s", tt.opts, o.RawCap, o.capOrigin)
		}
	}
}
