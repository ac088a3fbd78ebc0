package scripted

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const usageStream = `,"stream":true,"stream_options":{"include_usage":true}`

// The turn is told by the history alone.
func TestTurnsFollowHistory(t *testing.T) {
	s := start(t, card(program(
		Turn{Calls: []Call{ListFiles()}},
		Turn{Calls: []Call{WriteFile("a.py", "x = '<é>'\n"), Run("python3 a.py")}},
		Turn{Text: "Done.", Calls: []Call{Submit()}},
	)))
	var history []string
	for _, want := range [][2][]string{
		{{"list_files"}, {`{}`}},
		{{"write_file", "run"}, {`{"path":"a.py","content":"x = '<é>'\n"}`, `{"command":"python3 a.py"}`}},
		{{"submit"}, {`{}`}},
		{nil, nil},
	} {
		body := fmt.Sprintf(`{"messages":[{"role":"user","content":"do it"}%s]%s}`, strings.Join(history, ""), usageStream)
		got := assemble(t, do(t, "POST", s.URL()+"/v1/chat/completions", body).body)
		if diff := cmp.Diff([][]string{want[0], want[1]}, [][]string{got.names, got.args}); diff != "" {
			t.Errorf("after %d answers (-want +got):\n%s", len(history), diff)
		}
		finish := "tool_calls"
		if want[0] == nil {
			finish = "stop"
		}
		if got.finish != finish {
			t.Errorf("finish %q, want %q", got.finish, finish)
		}
		for _, id := range got.ids {
			if len(id) != 32 {
				t.Errorf("call id %q", id)
			}
		}
		history = append(history, `,{"role":"assistant","content":""},{"role":"tool","tool_call_id":"x","content":"ok"}`)
	}
}

func TestProgramChoice(t *testing.T) {
	p := card(
		Program{Name: "one", Task: "ledger", Seeds: []int64{7}, Turns: []Turn{{Text: "one"}}},
		Program{Name: "two", Task: "ledger", Turns: []Turn{{Text: "two"}}},
		Program{Name: "three", Seeds: []int64{8}, Turns: []Turn{{Text: "three"}}},
	)
	s := start(t, p)
	for _, tt := range []struct {
		task, fields, want string
	}{
		{"the ledger task", `,"seed":7`, "one"},
		{"the ledger task", `,"seed":8`, "two"},
		{"the ledger task", ``, "two"},
		{"another", `,"seed":8`, "three"},
	} {
		d := decodeOne(t, ask(t, s, tt.task, tt.fields).body)
		if got := d.Choices[0].Message.Content; got != tt.want {
			t.Errorf("%s %s: played %q, want %q", tt.task, tt.fields, got, tt.want)
		}
	}

	r := ask(t, s, "another", `,"seed":9`)
	if r.status != 404 {
		t.Errorf("status %d, want 404", r.status)
	}
	for _, name := range []string{"one", "two", "three", "ledger", "seed 9"} {
		if !strings.Contains(string(r.body), name) {
			t.Errorf("error does not name %q: %s", name, r.body)
		}
	}
}

func TestStreamAndWholeAgree(t *testing.T) {
	turn := Turn{Reasoning: "I think of über.", Text: "So — done.", Calls: []Call{WriteFile("ü.py", "print('日本')\n"), Submit()}}
	p := card(program(turn))
	for _, limit := range []int{1, 2, 5, 9, 13, 16, 25, 30, 400} {
		s := start(t, p)
		fields := fmt.Sprintf(`,"seed":3,"max_tokens":%d`, limit)
		whole := decodeOne(t, ask(t, s, "t", fields).body)
		streamed := assemble(t, ask(t, start(t, p), "t", fields+usageStream).body)
		m := whole.Choices[0].Message
		if m.Reasoning != streamed.reasoning {
			t.Errorf("max_tokens %d: reasoning %q and %q", limit, m.Reasoning, streamed.reasoning)
		}
		if whole.Choices[0].FinishReason != streamed.finish {
			t.Errorf("max_tokens %d: finish %q and %q", limit, whole.Choices[0].FinishReason, streamed.finish)
		}
		if !strings.HasPrefix(m.Content, streamed.text) {
			t.Errorf("max_tokens %d: text %q and %q", limit, m.Content, streamed.text)
		}
		if diff := cmp.Diff(whole.Timings, streamed.last.Timings); diff != "" {
			t.Errorf("max_tokens %d: timings (-whole +stream):\n%s", limit, diff)
		}
		if got := whole.Usage.Completion; got != whole.Timings.N || streamed.last.Usage.Completion != got || got > int64(limit) {
			t.Errorf("max_tokens %d: %d tokens, timings %d", limit, got, whole.Timings.N)
		}
		if limit == 400 {
			if len(m.ToolCalls) != 2 || m.ToolCalls[0].Function.Arguments != streamed.args[0] || m.Content != "So — done." {
				t.Errorf("whole message %+v, stream %+v", m, streamed)
			}
			continue
		}
		if streamed.finish != "length" || whole.Timings.N != int64(limit) {
			t.Errorf("max_tokens %d: finish %q after %d tokens", limit, streamed.finish, whole.Timings.N)
		}
		if len(m.ToolCalls) > 1 {
			t.Errorf("max_tokens %d: a cut call is among %+v", limit, m.ToolCalls)
		}
	}
}

// Cut inside a call: raw text without stream, a partial call or nothing with one.
func TestCutInsideCall(t *testing.T) {
	s := start(t, card(program(Turn{Text: "Now.", Calls: []Call{WriteFile("a.py", strings.Repeat("x = 1\n", 50))}})))
	early := assemble(t, ask(t, s, "t", `,"max_tokens":4`+usageStream).body)
	if early.text != "Now." || early.names != nil || early.finish != "length" {
		t.Errorf("cut before the arguments: %+v", early)
	}
	late := assemble(t, ask(t, s, "t", `,"max_tokens":40`+usageStream).body)
	if late.names == nil || json.Valid([]byte(late.args[0])) || late.finish != "length" {
		t.Errorf("cut in the arguments: %+v", late)
	}
	m := decodeOne(t, ask(t, s, "t", `,"max_tokens":40`).body).Choices[0].Message
	if !strings.HasPrefix(m.Content, `Now.<tool_call>{"name":"write_file"`) || len(m.ToolCalls) != 0 {
		t.Errorf("whole: %+v", m)
	}
}

func TestClaimedTokens(t *testing.T) {
	text := "eight bytes and some more" // 7 tokens by count
	for _, n := range []int{0, 1, 3, 7, 500} {
		s := start(t, card(program(Turn{Text: text, TextTokens: n})))
		a := assemble(t, ask(t, s, "t", usageStream).body)
		want := int64(n + 1) // and the end token
		if n == 0 {
			want = 7 + 1
		}
		if a.text != text || a.last.Timings.N != want {
			t.Errorf("claim %d: %q in %d tokens, want %d", n, a.text, a.last.Timings.N, want)
		}
	}
}

// A turn that ends by length takes all that max_tokens or the context allow.
func TestFinishLength(t *testing.T) {
	p := card(program(Turn{Text: "on and on", Calls: []Call{WriteFile("a", "b")}, Finish: FinishLength}))
	p.ContextPerSlot = 300
	s := start(t, p)
	for _, limit := range []int{1, 2, 20, 200} {
		a := assemble(t, ask(t, s, "t", fmt.Sprintf(`,"max_tokens":%d`, limit)+usageStream).body)
		if a.finish != "length" || a.last.Timings.N != int64(limit) {
			t.Errorf("max_tokens %d: %q after %d tokens", limit, a.finish, a.last.Timings.N)
		}
	}
	a := assemble(t, ask(t, s, "t", usageStream).body)
	if got := a.last.Usage.Prompt + a.last.Usage.Completion; a.finish != "length" || got != 300 {
		t.Errorf("without max_tokens: %q at %d tokens of 300", a.finish, got)
	}
	if a.text != "on and on" || len(a.args) != 1 {
		t.Errorf("its text did not come: %+v", a)
	}
	if m := decodeOne(t, ask(t, s, "t", ``).body).Choices[0].Message; len(m.ToolCalls) != 0 {
		t.Errorf("the last call is closed: %+v", m)
	}
}

func TestContextExceeded(t *testing.T) {
	p := card(program(Turn{Text: "x"}))
	p.ContextPerSlot = 50
	s := start(t, p)
	r := ask(t, s, strings.Repeat("word", 50), usageStream)
	var e struct {
		Error struct {
			Type   string `json:"type"`
			Prompt int    `json:"n_prompt_tokens"`
			Size   int    `json:"n_ctx"`
		} `json:"error"`
	}
	if err := json.Unmarshal(r.body, &e); err != nil {
		t.Fatal(err)
	}
	if r.status != 400 || e.Error.Type != "exceed_context_size_error" || e.Error.Size != 50 || e.Error.Prompt < 51 {
		t.Errorf("status %d, %s", r.status, r.body)
	}
}

func TestBadRequests(t *testing.T) {
	s := start(t, card(program(Turn{Text: "x"})))
	for _, tt := range []struct {
		body   string
		status int
		kind   string
	}{
		{``, 500, "server_error"},
		{`{"messages": [`, 500, "server_error"},
		{`[]`, 400, "invalid_request_error"},
		{`{}`, 400, "invalid_request_error"},
		{`{"messages":5}`, 400, "invalid_request_error"},
		{`{"messages":[{"content":"a"}]}`, 400, "invalid_request_error"},
		{`{"messages":[{"role":"user","content":5}]}`, 400, "invalid_request_error"},
		{`{"messages":[],"max_tokens":"many"}`, 400, "invalid_request_error"},
		{`{"messages":[],"temperature":"hot"}`, 400, "invalid_request_error"},
		{`{"messages":[],"n":2}`, 400, "invalid_request_error"},
		{`{"messages":[{"role":"user","content":"` + strings.Repeat("a", maxBody) + `"}]}`, 413, "invalid_request_error"},
	} {
		r := do(t, "POST", s.URL()+"/v1/chat/completions", tt.body)
		var e struct {
			Error struct {
				Code    int    `json:"code"`
				Message string `json:"message"`
				Type    string `json:"type"`
			} `json:"error"`
		}
		if err := json.Unmarshal(r.body, &e); err != nil {
			t.Errorf("%.40s: %v", tt.body, err)
		}
		if r.status != tt.status || e.Error.Code != tt.status || e.Error.Type != tt.kind || e.Error.Message == "" {
			t.Errorf("%.40s: status %d, %s", tt.body, r.status, r.body)
		}
	}
}

func TestContentForms(t *testing.T) {
	s := start(t, card(Program{Name: "p", Task: "find me", Turns: []Turn{{Text: "found"}}}))
	body := `{"messages":[{"role":"system","content":null},{"role":"user","content":[{"type":"text","text":"find "},{"type":"text","text":"me"}]}],"seed":-1,"max_tokens":null}`
	if r := do(t, "POST", s.URL()+"/chat/completions", body); r.status != 200 {
		t.Errorf("status %d: %s", r.status, r.body)
	}
}
