package scripted

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var weather = Call{Name: "get_weather", RawArguments: `{ "city" : "Lima", "days" : 1 }`}

// Each stream has the chunk kinds of a recorded one in the same order, every kind
// with the same keys in the same order.
func TestStreamShapes(t *testing.T) {
	const usage = `,"stream":true,"stream_options":{"include_usage":true}`
	drafting := card(program(Turn{Text: strings.Repeat("once upon a time ", 8)}))
	drafting.Speed.DraftDepth, drafting.Speed.Acceptance = 4, 0.7
	tests := []struct {
		recording string
		profile   Profile
		fields    string
	}{
		{"chat-stream-usage.http", card(program(Turn{Text: strings.Repeat("once upon a time ", 8)})), usage + `,"max_tokens":12`},
		{"chat-tool-truncated-stream.http", card(program(Turn{Calls: []Call{weather}})), usage + `,"max_tokens":3`},
		{"chat-tool-text-then-call-stream.http", card(program(Turn{Text: "I look.", Calls: []Call{weather, weather}})), usage},
		{"chat-reasoning-stream.http", card(program(Turn{Reasoning: "I think of it.", Text: "So it is."})), usage + `,"timings_per_token":true`},
		{"draft-stream-timings-usage.http", drafting, usage + `,"timings_per_token":true,"max_tokens":24`},
	}
	for _, tt := range tests {
		t.Run(tt.recording, func(t *testing.T) {
			want := recording(t, tt.recording)
			got := ask(t, start(t, tt.profile), "hello", tt.fields)
			if diff := cmp.Diff(headers(want), headers(got)); diff != "" {
				t.Errorf("headers (-recorded +ours):\n%s", diff)
			}
			if diff := cmp.Diff(kinds(t, want.body), kinds(t, got.body)); diff != "" {
				t.Errorf("kinds in order (-recorded +ours):\n%s", diff)
			}
			if diff := cmp.Diff(shapes(t, want.body), shapes(t, got.body)); diff != "" {
				t.Errorf("shape of each kind (-recorded +ours):\n%s", diff)
			}
		})
	}
}

func TestWholeShapes(t *testing.T) {
	tests := []struct {
		recording string
		profile   Profile
		fields    string
	}{
		{"chat-plain.http", card(program(Turn{Text: "Once upon a time."})), ``},
		{"chat-reasoning.http", card(program(Turn{Reasoning: "I think.", Text: "So it is."})), ``},
		{"chat-tool-required.http", card(program(Turn{Calls: []Call{weather, weather}})), ``},
		{"chat-tool-truncated.http", card(program(Turn{Calls: []Call{weather}})), `,"max_tokens":8`},
	}
	for _, tt := range tests {
		t.Run(tt.recording, func(t *testing.T) {
			want := recording(t, tt.recording)
			got := ask(t, start(t, tt.profile), "hello", tt.fields)
			compareWhole(t, want, got)
		})
	}
}

func TestModelListShape(t *testing.T) {
	s := start(t, card(program()))
	compareWhole(t, recording(t, "models.http"), do(t, "GET", s.URL()+"/v1/models", ""))
	compareWhole(t, recording(t, "models.http"), do(t, "GET", s.URL()+"/models", ""))
}

func TestErrorShapes(t *testing.T) {
	small := card(program(Turn{Text: "x"}))
	small.ContextPerSlot = 64
	locked := card(program(Turn{Text: "x"}))
	locked.Key = "right"
	tests := []struct {
		recording string
		profile   Profile
		method    string
		body      string
	}{
		{"err-context-overflow.http", small, "POST", `{"messages":[{"role":"user","content":"` + strings.Repeat("long ", 200) + `"}],"stream":true}`},
		{"err-no-messages.http", small, "POST", `{"max_tokens":4}`},
		{"err-get-on-post.http", small, "GET", ``},
		{"err-no-key.http", locked, "POST", `{"messages":[]}`},
	}
	for _, tt := range tests {
		t.Run(tt.recording, func(t *testing.T) {
			s := start(t, tt.profile)
			compareWhole(t, recording(t, tt.recording), do(t, tt.method, s.URL()+"/v1/chat/completions", tt.body))
		})
	}
}

func compareWhole(t *testing.T, want, got reply) {
	t.Helper()
	if want.status != got.status {
		t.Errorf("status %d, recorded %d", got.status, want.status)
	}
	if diff := cmp.Diff(headers(want), headers(got)); diff != "" {
		t.Errorf("headers (-recorded +ours):\n%s", diff)
	}
	if diff := cmp.Diff(skeleton(t, want.body), skeleton(t, got.body)); diff != "" {
		t.Errorf("shape (-recorded +ours):\n%s", diff)
	}
}

// headers returns the names of the headers, and the content type. net/http
// takes the framing out of them.
func headers(r reply) []string {
	var out []string
	for k := range maps.Keys(r.header) {
		switch k = http.CanonicalHeaderKey(k); k {
		case "Transfer-Encoding":
			continue
		case "Content-Type":
			k += ": " + r.header.Get(k)
		}
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// kinds returns the order of chunk kinds of a stream, repetitions collapsed.
func kinds(t *testing.T, body []byte) []string {
	t.Helper()
	var out []string
	for _, e := range splitEvents(t, body) {
		k := kind(t, e)
		if k == "fragment" {
			k = "call"
		}
		out = append(out, k)
	}
	return slices.Compact(out)
}

func shapes(t *testing.T, body []byte) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, e := range splitEvents(t, body) {
		k := kind(t, e)
		if k == "end" {
			continue
		}
		if s := skeleton(t, e); !slices.Contains(out[k], s) {
			out[k] = append(out[k], s)
		}
	}
	for _, s := range out {
		slices.Sort(s)
	}
	return out
}

func kind(t *testing.T, e []byte) string {
	t.Helper()
	if string(e) == "[DONE]" {
		return "end"
	}
	d := decodeOne(t, e)
	switch {
	case len(d.Choices) == 0:
		return "usage"
	case d.Choices[0].FinishReason != "":
		return "finish"
	case bytes.Contains(e, []byte(`"role"`)):
		return "role"
	case len(d.Choices[0].Delta.ToolCalls) > 0 && d.Choices[0].Delta.ToolCalls[0].ID != "":
		return "call"
	case len(d.Choices[0].Delta.ToolCalls) > 0:
		return "fragment"
	case d.Choices[0].Delta.Reasoning != "":
		return "reasoning"
	}
	return "content"
}
