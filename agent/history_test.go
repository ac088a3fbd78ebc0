package agent

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"assay/internal/bench"

	"pgregory.net/rapid"
)

type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

// checkHistory holds for every history that a request carries.
func checkHistory(t failer, messages []bench.Message) {
	t.Helper()
	if len(messages) < 2 || messages[0].Role != bench.RoleSystem || messages[1].Role != bench.RoleUser {
		t.Errorf("history does not begin with system and user: %+v", messages)
		return
	}
	ids := map[string]bool{}
	var open []string
	for i, m := range messages {
		if m.Role != bench.RoleTool && len(open) > 0 {
			t.Errorf("message %d comes before the answers to %v", i, open)
			open = nil
		}
		if !utf8.ValidString(m.Content) || !utf8.ValidString(m.Reasoning) {
			t.Errorf("message %d is not UTF-8", i)
		}
		switch m.Role {
		case bench.RoleAssistant:
			if m.Content == "" && len(m.ToolCalls) == 0 {
				t.Errorf("message %d is empty", i)
			}
			for _, c := range m.ToolCalls {
				var object map[string]any
				if err := json.Unmarshal([]byte(c.Arguments), &object); err != nil || object == nil || !utf8.ValidString(c.Arguments) {
					t.Errorf("message %d: arguments %q are no object: %v", i, c.Arguments, err)
				}
				if c.ID == "" || ids[c.ID] || c.Name == "" {
					t.Errorf("message %d: id %q, name %q, id used before: %v", i, c.ID, c.Name, ids[c.ID])
				}
				ids[c.ID] = true
				open = append(open, c.ID)
			}
		case bench.RoleTool:
			if len(open) == 0 || open[0] != m.ToolCallID {
				t.Errorf("message %d answers %q, open are %v", i, m.ToolCallID, open)
				continue
			}
			open = open[1:]
		case bench.RoleUser:
			if i > 1 && messages[i-1].Role != bench.RoleAssistant {
				t.Errorf("message %d: user after %s", i, messages[i-1].Role)
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("calls %v have no answer", open)
	}
}

func TestHistoryIsAlwaysValid(t *testing.T) {
	text := rapid.OneOf(rapid.Just(""), rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	arguments := rapid.OneOf(text, rapid.SampledFrom([]string{
		`{}`, `{"command":"ls"}`, `{"command":"\ud800"}`, `{"command":"ls","n":1e999}`, "{\"command\":\"\xff\"}", `{"path":"a","content":"x"}`,
		`{"path":"a","old":"x","new":"y"}`, `{"path":"../a"}`, `{"path":"a","start_line":0}`, `{"command":"l`, `[]`, `null`, `{}{}`, `{"path":null}`,
	}))
	name := rapid.OneOf(rapid.SampledFrom([]string{"run", "read_file", "write_file", "edit_file", "list_files"}), text)
	id := rapid.OneOf(rapid.SampledFrom([]string{"", "a", "call_1_1", "call_2_1"}), text)
	finish := rapid.SampledFrom([]bench.Finish{bench.FinishStop, bench.FinishToolCalls, bench.FinishLength, bench.FinishFilter, bench.FinishUnknown})
	answer := rapid.Custom(func(rt *rapid.T) turn {
		if rapid.IntRange(0, 9).Draw(rt, "fault") == 0 {
			return fails(bench.EngineError{Fault: rapid.SampledFrom([]bench.EngineFault{
				bench.FaultUnparsable, bench.FaultCut, bench.FaultServer}).Draw(rt, "kind")})
		}
		r := bench.Response{Complete: true, Text: text.Draw(rt, "text"), Reasoning: text.Draw(rt, "reasoning"), Finish: finish.Draw(rt, "finish")}
		for range rapid.IntRange(0, 4).Draw(rt, "calls") {
			r.ToolCalls = append(r.ToolCalls, bench.ToolCall{
				ID: id.Draw(rt, "id"), Name: name.Draw(rt, "name"), Arguments: arguments.Draw(rt, "arguments")})
		}
		return func(context.Context, bench.Request) (bench.Response, error) { return r, nil }
	})
	longest := 0
	rapid.Check(t, func(rt *rapid.T) {
		j := job()
		j.Limits.MaxMalformedCalls, j.Limits.MaxTurns, j.Limits.ToolOutputBytes = 50, 12, 500
		j.Replay = rapid.SampledFrom([]bench.Replay{bench.ReplayAsSent, bench.ReplayStrip}).Draw(rt, "replay")
		m := script(rapid.SliceOfN(answer, 1, 12).Draw(rt, "turns")...)
		synctest.Test(t, func(*testing.T) {
			got, err := Run(context.Background(), j, m, &memory{}, &notes{})
			if err != nil || got.Stop.Reason == "" || got.Stop.Message == "" {
				rt.Errorf("result %+v, error %v", got, err)
			}
		})
		for _, q := range m.requests {
			checkHistory(rt, q.Messages)
			for _, msg := range q.Messages {
				if msg.Role == bench.RoleTool && len(msg.Content) > j.Limits.ToolOutputBytes {
					rt.Errorf("an answer has %d bytes", len(msg.Content))
				}
			}
		}
		longest = max(longest, len(m.requests))
	})
	if longest < 8 {
		t.Errorf("the longest attempt had %d requests: the property saw too little", longest)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{}`, ``, `{}""`, `{"path":"a","start_line":3.0}`, `null`, `[1]`, `{"path":"\ud83d\ude00"}`, `{"path":"a","x":1e999}`,
		"{\"path\":\"\xff\"}", `{"path":"a","path":1}`, `{"path":"a","end_line":99999999999999999999}`, ` {"path" : "a"} `} {
		f.Add(s)
	}
	read := toolbox()[1]
	f.Fuzz(func(t *testing.T, raw string) {
		args, fault := read.decode(raw)
		if fault != nil {
			if fault.bad == bench.BadJSON && json.Valid([]byte(raw)) {
				t.Errorf("%q is JSON", raw)
			}
			if fault.text == "" || len(fault.text) > 1000 {
				t.Errorf("%d bytes of explanation", len(fault.text))
			}
			return
		}
		if !json.Valid([]byte(raw)) {
			t.Errorf("%q was accepted and is not JSON", raw)
		}
		var back map[string]any
		if err := json.Unmarshal([]byte(args.replayable(raw)), &back); err != nil || back["path"] != args.text["path"] {
			t.Errorf("%q comes back as %q: %v", raw, args.replayable(raw), err)
		}
		if s := strings.ToLower(args.replayable(raw)); strings.Contains(s, `\ud8`) && !strings.Contains(s, `\\ud8`) {
			t.Errorf("%q comes back with a surrogate escape", raw)
		}
	})
}

func TestScaffold(t *testing.T) {
	digest, text := Scaffold()
	for _, part := range []string{systemPrompt, reminderText, `"additionalProperties":false`, "same_call_run = 6"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the scaffold does not hold %q", part)
		}
	}
	// Another digest means that old and new results cannot be compared: change it
	// together with scaffoldVersion and on purpose only.
	if want := "0f10fba185bff9ed6e33f73b3658d2ea3e92a05d94757e30d5cea9d12114d526"; digest != want {
		t.Errorf("digest %s, want %s", digest, want)
	}
	for _, tool := range offered(toolbox()) {
		var schema struct {
			Properties map[string]struct{ Type string }
			Required   []string
		}
		if err := json.Unmarshal(tool.Parameters, &schema); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		}
		for _, name := range schema.Required {
			if schema.Properties[name].Type == "" {
				t.Errorf("%s requires %s, which it does not describe", tool.Name, name)
			}
		}
	}
}
