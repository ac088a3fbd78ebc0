package agent

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assay/internal/bench"

	"github.com/google/go-cmp/cmp"
)

func TestBadCalls(t *testing.T) {
	tests := []struct {
		name string
		turn turn
		kind bench.BadCall
		says string // to the model
	}{
		{"cut by length", with(calls("write_file", `{"path":"a","content":"b`), cutAt(5, 1000)), bench.BadTruncated, "smaller pieces"},
		{"closed by the server after a cut", with(calls("write_file", `{"path":"a","content":"b"}`), cutAt(5, 1000)), bench.BadTruncated, "length limit of 1000 tokens"},
		{"cut without a finish reason", with(calls("run", `{"comm`), func(r *bench.Response) { r.Finish = bench.FinishUnknown }), bench.BadTruncated, "cut"},
		{"no call", says("I am done"), bench.BadNoCall, "call submit"},
		{"unknown tool", calls("bash", `{"command":"ls"}`), bench.BadUnknownTool, "run, read_file, write_file, edit_file, list_files, submit"},
		{"no tool name", calls("", `{}`), bench.BadUnknownTool, "no tool named"},
		{"text for JSON", calls("run", `ls -l`), bench.BadJSON, `{"command": string}`},
		{"text after JSON", calls("list_files", `{}""`), bench.BadJSON, "after top-level value"},
		{"two objects", calls("run", `{"command":"a"}{"command":"b"}`), bench.BadJSON, "not valid JSON"},
		{"array", calls("run", `["ls"]`), bench.BadNotObject, "an array"},
		{"string in a string", calls("run", `"{\"command\":\"ls\"}"`), bench.BadNotObject, "a string"},
		{"null", calls("run", `null`), bench.BadNotObject, "null"},
		{"missing field", calls("write_file", `{"path":"a"}`), bench.BadMissingField, `"content" is missing`},
		{"null field", calls("run", `{"command":null}`), bench.BadMissingField, "must be a string, but is null"},
		{"wrong type", calls("run", `{"command":["ls"]}`), bench.BadMissingField, "must be a string, but is an array"},
		{"fraction for integer", calls("read_file", `{"path":"a","start_line":1.5}`), bench.BadMissingField, "must be an integer"},
		{"other case", calls("run", `{"Command":"ls"}`), bench.BadMissingField, `"command" is missing`},
		{"blank arguments", calls("run", ` `), bench.BadMissingField, `"command" is missing`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := script(tt.turn, submits)
			box := &memory{}
			got, n := mustRun(t, t.Context(), job(), m, box)
			if d := cmp.Diff(map[bench.BadCall]int{tt.kind: 1}, got.BadCalls); d != "" {
				t.Errorf("bad calls (-want +got):\n%s", d)
			}
			history := m.requests[1].Messages
			if last := history[len(history)-1].Content; !strings.Contains(last, tt.says) {
				t.Errorf("the model was told %q, want %q in it", last, tt.says)
			}
			if len(box.files)+len(box.commands) != 0 {
				t.Error("a bad call was run")
			}
			if tt.kind == bench.BadNoCall {
				return
			}
			first, _ := tt.turn(t.Context(), bench.Request{})
			want, step := first.ToolCalls[0], n.tools()[0]
			if step.Bad != tt.kind || step.OK || step.Arguments != want.Arguments || step.Tool != want.Name {
				t.Errorf("step %+v does not keep the raw call %+v", step, want)
			}
			if sent := history[len(history)-2].ToolCalls[0]; sent.Arguments != "{}" {
				t.Errorf("history holds arguments %q", sent.Arguments)
			}
			checkHistory(t, history)
		})
	}
}

func TestCallsBeforeACutOneAreRun(t *testing.T) {
	box := &memory{}
	got, _ := mustRun(t, t.Context(), job(), script(
		with(calls("write_file", `{"path":"a","content":"1"}`, "write_file", `{"path":"b","content":"2`), cutAt(5, 1000)), submits), box)
	if d := cmp.Diff(map[string]string{"a": "1"}, box.files); d != "" || got.BadCalls[bench.BadTruncated] != 1 {
		t.Errorf("bad calls %v, files (-want +got):\n%s", got.BadCalls, d)
	}
}

func TestSeveralCallsOfOneTurn(t *testing.T) {
	box := &memory{}
	m := script(calls("write_file", `{"path":"a","content":"1"}`, "edit_file", `{"path":"a","old":"1","new":"2"}`,
		"submit", `{}`, "write_file", `{"path":"a","content":"3"}`))
	got, n := mustRun(t, t.Context(), job(), m, box)
	if got.Stop.Reason != bench.StopSubmitted || box.files["a"] != "2" {
		t.Errorf("stop %s, file %q", got.Stop.Reason, box.files["a"])
	}
	steps := n.tools()
	if len(steps) != 4 || steps[3].OK || !strings.Contains(steps[3].Answer, "already handed over") {
		t.Errorf("steps %+v", steps)
	}
}

func TestTooManyCallsOfOneTurn(t *testing.T) {
	var pairs []string
	for range maxCallsPerTurn + 2 {
		pairs = append(pairs, "list_files", `{}`)
	}
	// Equal calls would be stopped as no progress first.
	for i := 1; i < len(pairs); i += 4 {
		pairs[i] = `{"path":"."}`
	}
	m := script(calls(pairs...), submits)
	_, n := mustRun(t, t.Context(), job(), m, &memory{})
	if last := n.tools()[maxCallsPerTurn]; last.OK || !strings.Contains(last.Answer, "at most 32 calls") {
		t.Errorf("step %+v", last)
	}
	checkHistory(t, m.requests[1].Messages)
}

func TestUnknownFieldsAreTolerated(t *testing.T) {
	m := script(calls("write_file", `{"path":"a","content":"1","mode":"w","append":false}`), submits)
	box := &memory{}
	got, n := mustRun(t, t.Context(), job(), m, box)
	if len(got.BadCalls) != 0 || box.files["a"] != "1" || !strings.Contains(n.tools()[0].Answer, "ignored: append, mode") {
		t.Errorf("bad %v, files %v, answer %q", got.BadCalls, box.files, n.tools()[0].Answer)
	}
}

func TestRequestCarriesTheJob(t *testing.T) {
	j := job()
	j.Limits.MaxSequenceTokens, j.ContextPerSlot = 5000, ptr[int64](2000)
	m := script(with(calls("list_files", `{}`), counts(1200, 100)), submits)
	mustRun(t, t.Context(), j, m, &memory{})
	first, second := m.requests[0], m.requests[1]
	if first.Seed != 7 || first.MaxOutputTokens != 1000 || len(first.Tools) != 6 || first.Messages[1].Content != "Do it." {
		t.Errorf("first request %+v", first)
	}
	if second.MaxOutputTokens != 700 {
		t.Errorf("max tokens of the second request %d, want the 700 that are left of 2000", second.MaxOutputTokens)
	}
}

func TestReasoningReplay(t *testing.T) {
	thinking := with(with(calls("list_files", `{}`), counts(1200, 500)), func(r *bench.Response) {
		r.Reasoning, r.ReasoningField = "because", "reasoning"
	})
	for _, tt := range []struct {
		replay      bench.Replay
		text, field string
		max         int
	}{{bench.ReplayAsSent, "because", "reasoning", 800}, {bench.ReplayStrip, "", "", 800}} {
		j := job()
		j.Replay, j.ContextPerSlot = tt.replay, ptr[int64](2000)
		m := script(thinking, submits)
		mustRun(t, t.Context(), j, m, &memory{})
		got := m.requests[1].Messages[2]
		if got.Reasoning != tt.text || got.ReasoningField != tt.field {
			t.Errorf("%s: sent %q in %q", tt.replay, got.Reasoning, got.ReasoningField)
		}
		if m.requests[1].MaxOutputTokens != tt.max {
			t.Errorf("%s: max tokens %d, want %d", tt.replay, m.requests[1].MaxOutputTokens, tt.max)
		}
	}
}

func TestCallIDsAreUnique(t *testing.T) {
	same := whole(func(r *bench.Response) {
		r.Finish = bench.FinishToolCalls
		for _, id := range []string{"x", "x", "", "call_1_2", "a\nb", strings.Repeat("y", 500)} {
			r.ToolCalls = append(r.ToolCalls, bench.ToolCall{ID: id, Name: "run", Arguments: `{"command":"` + strings.Repeat("z", len(r.ToolCalls)+1) + `"}`})
		}
	})
	m := script(same, same, submits)
	mustRun(t, t.Context(), job(), m, &memory{})
	checkHistory(t, m.requests[2].Messages)
	if first := m.requests[1].Messages[2].ToolCalls[0].ID; first != "x" {
		t.Errorf("a good id was replaced by %q", first)
	}
}

func TestCountersStartAgain(t *testing.T) {
	work := calls("list_files", `{}`)
	m := script(thinks("a"), thinks("b"), work, thinks("c"), thinks("d"), says(""), says(""), says("x"), says(""), submits)
	got, _ := mustRun(t, t.Context(), job(), m, &memory{})
	if got.Stop.Reason != bench.StopSubmitted || got.Reminders != 1 {
		t.Errorf("stop %+v, reminders %d", got.Stop, got.Reminders)
	}
}

func TestTaskClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := script(
			takes(10*time.Second, calls("run", `{"command":"x"}`)),
			takes(7*time.Second, fails(bench.EngineError{Fault: bench.FaultServer, Status: 502})),
			fails(bench.EngineError{Fault: bench.FaultRateLimited, RetryAfter: 65 * time.Second}),
			takes(time.Second, with(calls("list_files", `{}`), func(r *bench.Response) { r.Simulated = ptr(100 * time.Second) })),
			submits)
		box := &memory{exec: func(context.Context, bench.Command) (bench.CommandResult, error) {
			time.Sleep(5 * time.Second)
			return bench.CommandResult{Exit: bench.Exit{Reason: bench.ExitExited}}, nil
		}}
		start := time.Now()
		got, n := mustRun(t, t.Context(), job(), m, box)
		if want := 115 * time.Second; got.TaskTime != want {
			t.Errorf("task time %s, want %s: 10 s answer, 5 s command, 100 s simulated", got.TaskTime, want)
		}
		if wall := time.Since(start); wall != 89*time.Second {
			t.Errorf("wall time %s, want 10+5+7+1+65+1 s", wall)
		}
		if d := cmp.Diff([]bench.IdleGap{{Elapsed: 5 * time.Second}, {FileOnly: true}}, got.EngineIdle); d != "" {
			t.Errorf("idle gaps (-want +got):\n%s", d)
		}
		if got.Retries != 2 || len(n.responses) != 5 {
			t.Errorf("%d retries, %d responses", got.Retries, len(n.responses))
		}
		if d := cmp.Diff([]int{1, 2, 2, 2, 3}, n.turns); d != "" {
			t.Errorf("turns of the responses (-want +got):\n%s", d)
		}
	})
}

func TestIdleGapUsesTheMarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		marked := func(answer turn) turn {
			return func(ctx context.Context, q bench.Request) (bench.Response, error) {
				time.Sleep(time.Millisecond)
				start := time.Now()
				time.Sleep(time.Second)
				end := time.Since(start)
				time.Sleep(2 * time.Millisecond)
				r, err := answer(ctx, q)
				r.Marks = bench.Marks{Start: start, End: &end}
				return r, err
			}
		}
		got, _ := mustRun(t, t.Context(), job(), script(marked(calls("list_files", "{}")), marked(submits)), &memory{})
		if d := cmp.Diff([]bench.IdleGap{{Elapsed: 3 * time.Millisecond, FileOnly: true}}, got.EngineIdle); d != "" {
			t.Errorf("gap from last byte to first byte (-want +got):\n%s", d)
		}
	})
}

func TestPause(t *testing.T) {
	for _, tt := range []struct {
		fault bench.EngineError
		n     int
		want  time.Duration
	}{
		{bench.EngineError{Fault: bench.FaultCut}, 1, time.Second},
		{bench.EngineError{Fault: bench.FaultCut}, 2, 4 * time.Second},
		{bench.EngineError{Fault: bench.FaultLoading}, 1, 15 * time.Second},
		{bench.EngineError{Fault: bench.FaultRateLimited}, 2, time.Minute},
		{bench.EngineError{Fault: bench.FaultRateLimited, RetryAfter: 40 * time.Second}, 2, 40 * time.Second},
		{bench.EngineError{Fault: bench.FaultRateLimited, RetryAfter: time.Hour}, 1, 2 * time.Minute},
	} {
		if got := pause(&tt.fault, tt.n); got != tt.want {
			t.Errorf("%s try %d: %s, want %s", tt.fault.Fault, tt.n, got, tt.want)
		}
	}
}
