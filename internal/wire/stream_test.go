package wire

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/internal/bench"
)

// delta is one event whose only choice has the given delta.
func delta(json string) string {
	return `data: {"choices":[{"index":0,"delta":` + json + `}]}` + "\n\n"
}

const (
	doneMark   = "data: [DONE]\n\n"
	finishStop = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
)

// parse plays each event in a read of its own, one millisecond after the other.
func parse(t *testing.T, reads ...string) (bench.Response, error) {
	t.Helper()
	p := NewParser(Limits{})
	at := time.Duration(0)
	for _, r := range reads {
		at += time.Millisecond
		_ = p.Feed([]byte(r), at) // End returns the same error
	}
	return p.End(at + time.Millisecond)
}

func at(n int) *time.Duration { d := time.Duration(n) * time.Millisecond; return &d }

func TestThreeSpellingsOfReasoning(t *testing.T) {
	for _, field := range []string{"reasoning_content", "reasoning", "thinking"} {
		r, err := parse(t,
			delta(`{"role":"assistant","content":null}`),
			delta(`{"content":"","`+field+`":"let me "}`),
			delta(`{"`+field+`":"see"}`),
			delta(`{"content":"42"}`),
			finishStop+doneMark)
		if err != nil {
			t.Fatal(err)
		}
		got := []any{r.Reasoning, r.ReasoningField, r.Text, r.Marks.FirstToken, r.Marks.FirstAnswer, r.Marks.LastToken, r.TokenEvents}
		want := []any{"let me see", field, "42", at(2), at(4), at(4), 3}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", field, diff)
		}
	}
}

func TestThinkTags(t *testing.T) {
	tests := []struct {
		name                   string
		parts                  []string
		reasoning, text, field string
		answer                 *time.Duration
	}{
		{"whole", []string{"<think>\nhm\n</think>\n\n42"}, "\nhm\n", "\n\n42", "think", at(1)},
		{"split tags", []string{"<th", "ink>a", "b</thi", "nk>", "\n\n", "42"}, "ab", "\n\n42", "think", at(6)},
		{"blanks before", []string{"\n ", "<think>a</think>b"}, "a", "b", "think", at(2)},
		{"never closed", []string{"<think>a", "b"}, "ab", "", "think", nil},
		{"empty block", []string{"<think></think>b"}, "", "b", "think", at(1)},
		{"tags in the text", []string{"use <think>x</think>"}, "", "use <think>x</think>", "", at(1)},
		{"a second block is text", []string{"<think>a</think>b<think>c</think>"}, "a", "b<think>c</think>", "think", at(1)},
		{"part of a tag at the end", []string{"<thi"}, "", "<thi", "", at(1)},
		{"a word like the tag", []string{"<thin", "g>"}, "", "<thing>", "", at(1)},
		{"closing tag alone", []string{"a</think>b"}, "", "a</think>b", "", at(1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var reads []string
			for _, p := range tt.parts {
				reads = append(reads, delta(fmt.Sprintf(`{"content":%q}`, p)))
			}
			r, err := parse(t, append(reads, doneMark)...)
			if err != nil {
				t.Fatal(err)
			}
			got := []any{r.Reasoning, r.Text, r.ReasoningField, r.Marks.FirstAnswer, r.Marks.FirstToken}
			if diff := cmp.Diff([]any{tt.reasoning, tt.text, tt.field, tt.answer, at(1)}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A server that splits reasoning off itself has decided: tags are text then.
func TestServerFieldBeatsTags(t *testing.T) {
	r, err := parse(t, delta(`{"content":"<think>x</think>y"}`), delta(`{"reasoning_content":"r"}`), doneMark)
	if err != nil || r.Reasoning != "r" || r.Text != "<think>x</think>y" || r.ReasoningField != "reasoning_content" || *r.Marks.FirstAnswer != time.Millisecond {
		t.Errorf("error %v, response %+v", err, r)
	}
}

func TestToolCalls(t *testing.T) {
	call := func(s string) string { return delta(`{"tool_calls":[` + s + `]}`) }
	tests := []struct {
		name  string
		reads []string
		want  []bench.ToolCall
	}{
		{"parts by index", []string{
			call(`{"index":0,"id":"a","type":"function","function":{"name":"run","arguments":"{"}}`),
			call(`{"index":1,"id":"b","type":"function","function":{"name":"see","arguments":""}}`),
			call(`{"index":0,"function":{"arguments":" \"x\" :1}"}}`),
			call(`{"index":1,"function":{"arguments":"{}"}}`),
		}, []bench.ToolCall{{ID: "a", Name: "run", Arguments: `{ "x" :1}`}, {ID: "b", Name: "see", Arguments: "{}"}}},
		{"higher index first", []string{
			call(`{"index":1,"id":"b","function":{"name":"see","arguments":"{}"}}`),
			call(`{"index":0,"id":"a","function":{"name":"run","arguments":"{}"}}`),
		}, []bench.ToolCall{{ID: "a", Name: "run", Arguments: "{}"}, {ID: "b", Name: "see", Arguments: "{}"}}},
		{"no index", []string{
			call(`{"id":"a","function":{"name":"run","arguments":"{"}}`),
			call(`{"function":{"arguments":"}"}}`),
			call(`{"id":"b","function":{"name":"run","arguments":"[]"}}`),
		}, []bench.ToolCall{{ID: "a", Name: "run", Arguments: "{}"}, {ID: "b", Name: "run", Arguments: "[]"}}},
		{"every call has index 0", []string{
			call(`{"index":0,"id":"a","function":{"name":"run","arguments":"1"}}`),
			call(`{"index":0,"id":"b","function":{"name":"run","arguments":"2"}}`),
		}, []bench.ToolCall{{ID: "a", Name: "run", Arguments: "1"}, {ID: "b", Name: "run", Arguments: "2"}}},
		{"name and id repeated, then null", []string{
			call(`{"index":0,"id":"a","function":{"name":"run","arguments":"["}}`),
			call(`{"index":0,"id":"a","function":{"name":"run","arguments":"1"}}`),
			call(`{"index":0,"id":null,"function":{"name":null,"arguments":"]"}}`),
		}, []bench.ToolCall{{ID: "a", Name: "run", Arguments: "[1]"}}},
		{"arguments as an object", []string{call(`{"index":0,"id":"a","function":{"name":"run","arguments":{"b": 1,  "a":2}}}`)},
			[]bench.ToolCall{{ID: "a", Name: "run", Arguments: `{"b": 1,  "a":2}`}}},
		{"cut arguments stay cut", []string{call(`{"index":0,"id":"a","function":{"name":"run","arguments":"{\"x\":\"é\\"}}`)},
			[]bench.ToolCall{{ID: "a", Name: "run", Arguments: `{"x":"é\`}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := parse(t, append(tt.reads, doneMark)...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, r.ToolCalls); diff != "" {
				t.Error(diff)
			}
			if r.Marks.FirstAnswer == nil || *r.Marks.FirstAnswer != time.Millisecond || r.TokenEvents != len(tt.reads) {
				t.Errorf("marks %+v, %d token events", r.Marks, r.TokenEvents)
			}
		})
	}
}

// The first chunk of a progress stream carries the slot's last request.
func TestStaleTimingsAreNotRead(t *testing.T) {
	stale := `data: {"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"timings":{"cache_n":7,"prompt_n":0,"prompt_ms":139.061,"prompt_per_token_ms":null,"predicted_n":71,"predicted_ms":981.934},"prompt_progress":{"total":17,"cache":7,"processed":7,"time_ms":3}}` + "\n\n"
	r, err := parse(t, stale, delta(`{"content":"x"}`), finishStop, doneMark)
	if err != nil || r.Timings != nil || *r.Marks.FirstToken != 2*time.Millisecond {
		t.Errorf("error %v, timings %+v, first token %v", err, r.Timings, r.Marks.FirstToken)
	}
	final := `data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2},"timings":{"cache_n":8,"prompt_n":1,"prompt_ms":null,"predicted_n":2,"predicted_ms":5.5,"draft_n":3,"draft_n_accepted":0}}` + "\n\n"
	r, err = parse(t, stale, delta(`{"content":"x"}`), finishStop, final, doneMark)
	n := func(v int64) *int64 { return &v }
	msec := 5.5
	want := &bench.Timings{CacheN: n(8), PromptN: n(1), PredictedN: n(2), PredictedMS: &msec, DraftN: n(3), DraftNAccepted: n(0)}
	if diff := cmp.Diff(want, r.Timings); err != nil || diff != "" {
		t.Errorf("error %v\n%s", err, diff)
	}
}

func TestUsage(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	for _, tt := range []struct {
		name   string
		events []string
		want   bench.Usage
	}{
		{"null is absent", []string{`{"choices":[],"usage":null}`}, bench.Usage{}},
		{"the last wins whole", []string{
			`{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":5}}}`,
			`{"choices":[],"usage":{"prompt_tokens":59,"completion_tokens":40,"prompt_tokens_details":null}}`,
			`{"choices":[],"usage":null}`,
		}, bench.Usage{PromptTokens: n(59), CompletionTokens: n(40)}},
		{"SGLang's reasoning tokens", []string{`{"choices":[],"usage":{"prompt_tokens":59,"completion_tokens":40,"reasoning_tokens":37}}`},
			bench.Usage{PromptTokens: n(59), CompletionTokens: n(40), ReasoningTokens: n(37)}},
		{"none counted while reasoning is there", []string{`{"choices":[{"index":0,"delta":{"reasoning":"hm"}}],"usage":{"completion_tokens":4,"completion_tokens_details":{"reasoning_tokens":0}}}`},
			bench.Usage{CompletionTokens: n(4)}},
		{"zero is zero", []string{`{"choices":[],"usage":{"completion_tokens":0,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}}`},
			bench.Usage{CompletionTokens: n(0), CachedTokens: n(0), ReasoningTokens: n(0)}},
	} {
		var reads []string
		for _, e := range tt.events {
			reads = append(reads, "data: "+e+"\n\n")
		}
		r, err := parse(t, append(reads, doneMark)...)
		if diff := cmp.Diff(tt.want, r.Usage); err != nil || diff != "" {
			t.Errorf("%s: error %v\n%s", tt.name, err, diff)
		}
	}
}

// Framings of the same two tokens: all read alike.
func TestFraming(t *testing.T) {
	a, b := `{"choices":[{"index":0,"delta":{"content":"é"}}]}`, `{"choices":[{"index":0,"delta":{"content":"b"}}]}`
	for name, body := range map[string]string{
		"plain":                 "data: " + a + "\n\ndata: " + b + "\n\n" + doneMark,
		"CRLF":                  "data: " + a + "\r\n\r\ndata: " + b + "\r\n\r\ndata: [DONE]\r\n\r\n",
		"no blank":              "data:" + a + "\n\ndata:" + b + "\n\ndata:[DONE]\n\n",
		"BOM":                   "\xef\xbb\xbfdata: " + a + "\n\ndata: " + b + "\n\n" + doneMark,
		"blank lines first":     "\n\n\r\ndata: " + a + "\n\ndata: " + b + "\n\n" + doneMark,
		"comments":              ":\n\n: ping\n\ndata: " + a + "\n\n:\ndata: " + b + "\n\n: x\n" + doneMark,
		"event, id and retry":   "event: message\nid: 1\nretry: 5\ndata: " + a + "\n\nevent: message\ndata: " + b + "\n\n" + doneMark,
		"data over two lines":   "data: " + strings.Replace(a, `,"delta"`, ",\ndata: \"delta\"", 1) + "\n\ndata: " + b + "\n\n" + doneMark,
		"unknown fields":        "x: y\nfoo\ndata: " + a + "\n\ndata: " + b + "\n\n" + doneMark,
		"end mark without line": "data: " + a + "\n\ndata: " + b + "\n\ndata: [DONE]",
		"bytes after the end":   "data: " + a + "\n\ndata: " + b + "\n\n" + doneMark + "data: {broken\n\n" + "data: " + a + "\n\n",
		"empty data":            "data:\n\ndata: " + a + "\n\ndata\n\ndata: " + b + "\n\n" + doneMark,
	} {
		var single [][]byte
		for i := range len(body) {
			single = append(single, []byte{body[i]})
		}
		for _, chunks := range [][][]byte{{[]byte(body)}, single} {
			r, err := feed(NewParser(Limits{}), chunks)
			if err != nil || !r.Complete || !r.Streamed || r.Text != "éb" || r.TokenEvents != 2 {
				t.Errorf("%s in %d reads: error %v, response %+v", name, len(chunks), err, r)
			}
		}
	}
}

// Nothing but the end mark makes an answer complete.
func TestIncomplete(t *testing.T) {
	token := delta(`{"content":"a"}`)
	usage := `data: {"choices":[],"usage":{"completion_tokens":1}}` + "\n\n"
	for name, body := range map[string]string{
		"nothing":               "",
		"blanks":                "\n\n",
		"pings only":            ":\n\n:\n\n",
		"no finish reason":      token,
		"finish reason":         token + finishStop,
		"finish and usage":      token + finishStop + usage,
		"cut inside an event":   token + `data: {"choices":[{"index":0,"del`,
		"cut inside the mark":   token + finishStop + "data: [DON",
		"mark inside a comment": token + ": [DONE]\n\n",
		"mark as content":       delta(`{"content":"data: [DONE]"}`),
		"part of a document":    `{"choices":[{"index":0,"message":{"content":"a"`,
		"part of a BOM":         "\xef\xbb",
	} {
		r, err := parse(t, body)
		var e *bench.EngineError
		if !errors.As(err, &e) || e.Fault != bench.FaultCut || r.Complete {
			t.Errorf("%s: error %v, complete %v", name, err, r.Complete)
		}
	}
	// An event whose data is whole counts although its blank line is missing.
	r, _ := parse(t, token, strings.TrimRight(delta(`{"content":"b"}`), "\n"))
	if r.Text != "ab" || *r.Marks.LastToken != 2*time.Millisecond {
		t.Errorf("text %q, last token %v", r.Text, r.Marks.LastToken)
	}
}

func TestLimits(t *testing.T) {
	long := strings.Repeat("x", 200)
	calls := ""
	for i := range 5 {
		calls += delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"%d","function":{"name":"f"}}]}`, i, i))
	}
	for name, body := range map[string]string{
		"line":            delta(`{"content":"a"}`) + "data: " + long,
		"line that ends":  delta(`{"content":"a"}`) + ": " + long + "\n\n",
		"event":           delta(`{"content":"a"}`) + strings.Repeat("data: "+long[:80]+"\n", 3),
		"document":        `{"choices":[` + long + long,
		"number of calls": delta(`{"content":"a"}`) + calls,
	} {
		p := NewParser(Limits{EventBytes: 150, DocumentBytes: 300, ToolCalls: 4})
		r, err := feed(p, [][]byte{[]byte(body)})
		var e *bench.EngineError
		want := bench.FaultTooLarge
		if name == "number of calls" {
			want = bench.FaultTooManyCalls // the model's doing, and no matter of size
		}
		if !errors.As(err, &e) || e.Fault != want || r.Complete || (name != "document" && r.Text != "a") {
			t.Errorf("%s: error %v, response %+v", name, err, r)
		}
		if again := p.Feed([]byte(doneMark), 0); again == nil || p.Complete() {
			t.Errorf("%s: the parser went on after its error", name)
		}
	}
}

func TestFinish(t *testing.T) {
	for raw, want := range map[string]bench.Finish{
		`"stop"`: bench.FinishStop, `"tool_calls"`: bench.FinishToolCalls, `"function_call"`: bench.FinishToolCalls,
		`"length"`: bench.FinishLength, `"content_filter"`: bench.FinishFilter, `"abort"`: bench.FinishUnknown, `null`: bench.FinishUnknown,
	} {
		r, err := parse(t, `data: {"choices":[{"index":0,"delta":{},"finish_reason":`+raw+`}]}`+"\n\n", doneMark)
		if err != nil || r.Finish != want || (raw != "null" && r.FinishRaw != strings.Trim(raw, `"`)) {
			t.Errorf("%s: error %v, finish %s of %q", raw, err, r.Finish, r.FinishRaw)
		}
	}
}

func TestRefusalIsNoText(t *testing.T) {
	r, err := parse(t, delta(`{"refusal":"I "}`), delta(`{"refusal":"won't"}`), doneMark)
	if err != nil || r.Refusal != "I won't" || r.Text != "" || r.TokenEvents != 2 {
		t.Errorf("error %v, response %+v", err, r)
	}
}

// SGLang's stream, as a live server sent it.
func TestNullsEverywhere(t *testing.T) {
	r, err := parse(t,
		`data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"q","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning_content":null},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}`+"\n\n",
		`data: {"id":"x","choices":[{"index":0,"delta":{"role":null,"content":null,"reasoning_content":"The","tool_calls":null},"finish_reason":null}],"usage":null}`+"\n\n",
		`data: {"id":"x","choices":[{"index":0,"delta":{"role":null,"content":null,"reasoning_content":null},"finish_reason":"stop","matched_stop":248046}],"usage":null}`+"\n\n",
		`data: {"id":"x","choices":[],"usage":{"prompt_tokens":59,"total_tokens":99,"completion_tokens":40,"prompt_tokens_details":null,"reasoning_tokens":37}}`+"\n\n",
		doneMark)
	if err != nil || r.Reasoning != "The" || *r.Usage.CompletionTokens != 40 || r.Usage.CachedTokens != nil || r.TokenEvents != 1 || *r.Marks.FirstToken != 2*time.Millisecond || r.Model != "q" {
		t.Errorf("error %v, response %+v", err, r)
	}
}
