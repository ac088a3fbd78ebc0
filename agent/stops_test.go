package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assay/internal/bench"

	"github.com/google/go-cmp/cmp"
)

func ptr[T any](v T) *T { return &v }

func TestEveryStop(t *testing.T) {
	lost := fmt.Errorf("supervisor gone: %w", bench.ErrBoxLost)
	work := calls("run", `{"command":"true"}`)
	var fresh int
	different := func(ctx context.Context, r bench.Request) (bench.Response, error) {
		fresh++
		return calls("run", fmt.Sprintf(`{"command":"echo %d"}`, fresh))(ctx, r)
	}
	unparsable := fails(bench.EngineError{Fault: bench.FaultUnparsable, Status: 500})
	tests := []struct {
		name    string
		turns   []turn
		job     func(j *Job)
		box     *memory
		reason  bench.StopReason
		limit   string
		value   string
		reached string
		words   string // part of the message
		turned  int
		retries int
	}{
		{name: "submitted", turns: []turn{work, submits}, reason: bench.StopSubmitted, words: "submit", turned: 2},
		{name: "blank arguments of submit", turns: []turn{calls("submit", "")}, reason: bench.StopSubmitted, words: "submit", turned: 1},
		{name: "final message without reminder", turns: []turn{says("Done.")}, job: func(j *Job) { j.Reminder = false },
			reason: bench.StopFinalMessage, words: "message", turned: 1},
		{name: "final message after one reminder", turns: []turn{says("Done."), work, says("Done.")},
			reason: bench.StopFinalMessage, words: "after one reminder", turned: 3},
		{name: "output limit", turns: []turn{with(says("blah"), cutAt(10, 1000))}, reason: bench.StopOutputLimit,
			limit: "max_output_tokens", value: "1000 tokens", reached: "1000 tokens", words: "1000 tokens", turned: 1},
		{name: "output limit with unknown counts", turns: []turn{with(says("blah"), func(r *bench.Response) { r.Finish = bench.FinishLength })},
			reason: bench.StopOutputLimit, limit: "max_output_tokens", value: "1000 tokens", reached: "an unknown number of tokens", words: "cut", turned: 1},
		{name: "output ended by the server", turns: []turn{with(says("blah"), cutAt(10, 300))}, reason: bench.StopOutputLimit,
			reached: "300 tokens", words: "below the 1000 tokens asked for", turned: 1},
		{name: "nothing shown of a cut answer", turns: []turn{with(says(""), cutAt(10, 1000))}, reason: bench.StopOutputLimit,
			limit: "max_output_tokens", value: "1000 tokens", reached: "1000 tokens", words: "cut", turned: 1},
		{name: "reasoning exhausted by length", turns: []turn{with(thinks("hm"), cutAt(10, 1000))}, reason: bench.StopReasoningExhausted,
			limit: "max_output_tokens", value: "1000 tokens", reached: "1000 tokens", words: "reasoning", turned: 1},
		{name: "reasoning and an answer that was not shown", turns: []turn{with(with(thinks("hm"), cutAt(10, 1000)),
			func(r *bench.Response) { r.Usage.ReasoningTokens = ptr[int64](400) })}, reason: bench.StopOutputLimit,
			limit: "max_output_tokens", value: "1000 tokens", reached: "1000 tokens", words: "cut", turned: 1},
		{name: "reasoning exhausted by turns", turns: []turn{thinks("hm")}, reason: bench.StopReasoningExhausted, words: "3 turns", turned: 3},
		{name: "sequence limit before a request", turns: []turn{with(work, counts(700, 300))},
			job: func(j *Job) { j.Limits.MaxSequenceTokens = 1000 }, reason: bench.StopSequenceLimit,
			limit: "max_sequence_tokens", value: "1000 tokens", reached: "1000 tokens", words: "no room", turned: 1},
		{name: "sequence limit exceeded by an answer", turns: []turn{with(submits, counts(700, 301))},
			job: func(j *Job) { j.Limits.MaxSequenceTokens = 1000 }, reason: bench.StopSequenceLimit,
			limit: "max_sequence_tokens", value: "1000 tokens", reached: "1001 tokens", words: "longer", turned: 1},
		{name: "sequence limit by the context of the slot", turns: []turn{with(says("x"), cutAt(200, 56))},
			job: func(j *Job) { j.ContextPerSlot = ptr[int64](256) }, reason: bench.StopSequenceLimit,
			limit: "context_per_slot", value: "256 tokens", reached: "256 tokens", words: "end of what", turned: 1},
		{name: "sequence limit by the room that was left", turns: []turn{with(work, counts(300, 100)), with(says("x"), cutAt(480, 600))},
			job: func(j *Job) { j.Limits.MaxSequenceTokens = 1000 }, reason: bench.StopSequenceLimit,
			limit: "max_sequence_tokens", value: "1000 tokens", reached: "1080 tokens", words: "longer", turned: 2},
		{name: "turn limit", turns: []turn{different}, job: func(j *Job) { j.Limits.MaxTurns = 5 }, reason: bench.StopTurnLimit,
			limit: "max_turns", value: "5 turns", reached: "5 turns", words: "handed", turned: 5},
		{name: "time limit in a call", turns: []turn{work, hangs}, job: func(j *Job) { j.Limits.MaxTime = 90 * time.Second },
			reason: bench.StopTimeLimit, limit: "max_seconds", value: "90 s", reached: "90 s", words: "model call", turned: 1},
		{name: "time limit while the server is silent", turns: []turn{work, silent}, job: func(j *Job) { j.Limits.MaxTime = 90 * time.Second },
			reason: bench.StopEngineLost, limit: "max_seconds", value: "90 s", reached: "90 s", words: "no byte for 90 s when max_seconds fired", turned: 1},
		{name: "time limit while a server is silent that has no idle limit", turns: []turn{work, silent},
			job:    func(j *Job) { j.Limits.MaxTime, j.Limits.IdleTime = 30*time.Second, 0 },
			reason: bench.StopTimeLimit, limit: "max_seconds", value: "30 s", reached: "30 s", words: "model call", turned: 1},
		{name: "a cut that the time limit follows at once", turns: []turn{work, cutLate}, job: func(j *Job) { j.Limits.MaxTime = 90 * time.Second },
			reason: bench.StopEngineLost, words: "reset by peer", turned: 1, retries: 2},
		{name: "time limit soon after a request", turns: []turn{work, silent}, job: func(j *Job) { j.Limits.MaxTime = 20 * time.Second },
			reason: bench.StopTimeLimit, limit: "max_seconds", value: "20 s", reached: "20 s", words: "model call", turned: 1},
		{name: "time limit in a command", turns: []turn{calls("run", `{"command":"sleep 99"}`, "submit", "{}")},
			job: func(j *Job) { j.Limits.MaxTime = 20 * time.Second }, box: &memory{exec: sleeper},
			reason: bench.StopTimeLimit, limit: "max_seconds", value: "20 s", reached: "20 s", words: "between", turned: 1},
		{name: "time limit by simulated time", turns: []turn{with(submits, func(r *bench.Response) { r.Simulated = ptr(time.Hour) })},
			reason: bench.StopTimeLimit, limit: "max_seconds", value: "600 s", reached: "3600 s", words: "model call", turned: 0},
		{name: "context exceeded", turns: []turn{fails(bench.EngineError{Fault: bench.FaultContextExceeded, Status: 400,
			PromptTokens: ptr[int64](1407), ContextSize: ptr[int64](256)})}, reason: bench.StopContextExceeded,
			limit: "context", value: "256 tokens", reached: "1407 tokens", words: "prompt of 1407 tokens does not fit"},
		{name: "malformed calls", turns: []turn{calls("run", `{"command"`)}, reason: bench.StopMalformedCalls,
			limit: "max_malformed_calls", value: "3 calls", reached: "4 calls", words: "bad_json 4", turned: 4},
		{name: "malformed calls that the server saw", turns: []turn{unparsable}, reason: bench.StopMalformedCalls,
			limit: "max_malformed_calls", value: "3 calls", reached: "4 calls", words: "bad_json 4", turned: 4},
		{name: "server could not parse once", turns: []turn{unparsable, submits}, reason: bench.StopSubmitted, words: "submit", turned: 2},
		{name: "no progress by one call", turns: []turn{work}, reason: bench.StopNoProgress, words: "6 times", turned: 6},
		{name: "no progress whatever the seconds", turns: []turn{work}, box: slower(), reason: bench.StopNoProgress, words: "6 times", turned: 6},
		{name: "no progress by a circle", turns: circle(), reason: bench.StopNoProgress, words: "10 turns", turned: 12},
		{name: "empty responses", turns: []turn{says(" \n")}, reason: bench.StopEmptyResponses, words: "3 responses", turned: 3},
		{name: "refused", turns: []turn{whole(func(r *bench.Response) { r.Refusal = "I cannot help" })}, reason: bench.StopModelRefused,
			words: "I cannot help", turned: 1},
		{name: "engine lost", turns: []turn{fails(bench.EngineError{Fault: bench.FaultUnreachable})}, reason: bench.StopEngineLost,
			words: "after 2 retries", retries: 2},
		{name: "engine lost by an answer without end", turns: []turn{with(says("x"), func(r *bench.Response) { r.Complete = false })},
			reason: bench.StopEngineLost, words: "no end mark", retries: 2},
		{name: "engine idle", turns: []turn{fails(bench.EngineError{Fault: bench.FaultIdle})}, reason: bench.StopEngineLost,
			limit: "idle_seconds", value: "60 s", words: "silent"},
		{name: "engine rejected", turns: []turn{fails(bench.EngineError{Fault: bench.FaultUnauthorised, Status: 401})},
			reason: bench.StopEngineRejected, words: "401"},
		{name: "engine too large", turns: []turn{fails(bench.EngineError{Fault: bench.FaultTooLarge})},
			reason: bench.StopEngineRejected, limit: "answer_bytes", words: "too_large"},
		{name: "answer over the cap", turns: []turn{with(fails(bench.EngineError{Fault: bench.FaultTooLarge}), func(r *bench.Response) {
			r.Raw, r.RawTotal = make([]byte, 1000), 1024
		})}, reason: bench.StopEngineRejected, limit: "answer_bytes", value: "1000 bytes", reached: "1024 bytes", words: "gave up an answer"},
		{name: "a prompt that fits and leaves no room", turns: []turn{fails(bench.EngineError{Fault: bench.FaultContextExceeded, Status: 400,
			PromptTokens: ptr[int64](250), ContextSize: ptr[int64](256)})}, reason: bench.StopContextExceeded,
			limit: "context", value: "256 tokens", reached: "250 tokens", words: "leaves no room"},
		{name: "a flood of calls", turns: []turn{fails(bench.EngineError{Fault: bench.FaultTooManyCalls})},
			reason: bench.StopMalformedCalls, limit: "tool_calls_per_answer", words: "flood"},
		{name: "another protocol", turns: []turn{fails(bench.EngineError{Fault: bench.FaultProtocol})},
			reason: bench.StopEngineRejected, words: "another protocol", retries: 2},
		{name: "one broken event", turns: []turn{fails(bench.EngineError{Fault: bench.FaultProtocol}), submits},
			reason: bench.StopSubmitted, words: "submit", turned: 1, retries: 1},
		{name: "faults of many requests", turns: flaky(4), reason: bench.StopSubmitted, words: "submit", turned: 5, retries: 8},
		{name: "more faults than an attempt may have", turns: flaky(6), reason: bench.StopEngineLost, words: "10 of the attempt", turned: 5, retries: 10},
		{name: "sandbox lost", turns: []turn{work}, box: &memory{fail: lost}, reason: bench.StopSandboxLost, words: "supervisor gone", turned: 1},
		{name: "sandbox lost in a file", turns: []turn{calls("read_file", `{"path":"a"}`)}, box: &memory{fail: lost},
			reason: bench.StopSandboxLost, words: "read_file", turned: 1},
		{name: "sandbox that never answers", turns: []turn{work}, box: &memory{exec: func(ctx context.Context, _ bench.Command) (bench.CommandResult, error) {
			<-ctx.Done()
			return bench.CommandResult{}, ctx.Err()
		}}, reason: bench.StopSandboxLost, words: "deadline", turned: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fresh = 0
				j := job()
				if tt.job != nil {
					tt.job(&j)
				}
				box := tt.box
				if box == nil {
					box = &memory{}
				}
				got, n := mustRun(t, t.Context(), j, script(tt.turns...), box)
				want := bench.Stop{Reason: tt.reason, Limit: tt.limit, Value: tt.value, Reached: tt.reached, Message: got.Stop.Message}
				if d := cmp.Diff(want, got.Stop); d != "" {
					t.Errorf("stop (-want +got):\n%s", d)
				}
				if !strings.Contains(got.Stop.Message, tt.words) {
					t.Errorf("message %q does not say %q", got.Stop.Message, tt.words)
				}
				if got.Turns != tt.turned || got.Retries != tt.retries {
					t.Errorf("turns %d, retries %d, want %d, %d", got.Turns, got.Retries, tt.turned, tt.retries)
				}
				for i, s := range n.steps {
					if s.Index != i || s.Turn < 1 {
						t.Errorf("step %d has index %d and turn %d", i, s.Index, s.Turn)
					}
				}
			})
		})
	}
}

// cutLate is cut by the engine just before the time limit fires.
func cutLate(ctx context.Context, _ bench.Request) (bench.Response, error) {
	<-ctx.Done()
	return bench.Response{Text: "half a sen", Status: 200, RawTotal: 99}, &bench.EngineError{Fault: bench.FaultCut, Status: 200, Message: "reset by peer"}
}

func sleeper(_ context.Context, c bench.Command) (bench.CommandResult, error) {
	time.Sleep(c.Limits.Wall)
	return bench.CommandResult{Exit: bench.Exit{Reason: bench.ExitWallLimit, Code: -1, Wall: c.Limits.Wall}}, nil
}

// slower ends every command by its limit, each after another time.
func slower() *memory {
	n := 0
	return &memory{exec: func(context.Context, bench.Command) (bench.CommandResult, error) {
		n++
		return bench.CommandResult{Exit: bench.Exit{Reason: bench.ExitWallLimit, Code: -1, Wall: 30*time.Second + time.Duration(n)*time.Millisecond}}, nil
	}}
}

// flaky fails twice before each of n calls, then submits.
func flaky(n int) []turn {
	lost := fails(bench.EngineError{Fault: bench.FaultUnreachable})
	var turns []turn
	for i := range n {
		turns = append(turns, lost, lost, calls("run", fmt.Sprintf(`{"command":"step %d"}`, i)))
	}
	return append(turns, submits)
}

// circle alternates two calls for ever.
func circle() []turn {
	var turns []turn
	for range 20 {
		turns = append(turns, calls("run", `{"command":"a"}`), calls("run", `{"command":"b"}`))
	}
	return turns
}

func TestEngineRejectedIsNotRetried(t *testing.T) {
	for _, f := range []bench.EngineFault{bench.FaultUnauthorised, bench.FaultNotFound, bench.FaultRejected,
		bench.FaultTooLarge, bench.FaultIdle, bench.FaultContextExceeded} {
		m := script(fails(bench.EngineError{Fault: f}))
		mustRun(t, t.Context(), job(), m, &memory{})
		if len(m.requests) != 1 {
			t.Errorf("%s: %d requests, want 1", f, len(m.requests))
		}
	}
}

func TestInterrupted(t *testing.T) {
	for _, tt := range []struct {
		name  string
		model *scripted
		box   *memory
	}{
		{"in a model call", script(hangs), &memory{}},
		{"in a wait before a retry", script(fails(bench.EngineError{Fault: bench.FaultRateLimited})), &memory{}},
		{"in a command", script(calls("run", `{"command":"x"}`)), &memory{exec: func(ctx context.Context, _ bench.Command) (bench.CommandResult, error) {
			<-ctx.Done()
			return bench.CommandResult{}, ctx.Err()
		}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				got, n := mustRun(t, ctx, job(), tt.model, tt.box)
				if got.Stop.Reason != bench.StopInterrupted {
					t.Errorf("stop %+v", got.Stop)
				}
				if len(n.responses) != 1 {
					t.Errorf("%d responses were written down, want 1", len(n.responses))
				}
			})
		})
	}
}

func TestPartialAnswerIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, n := mustRun(t, t.Context(), job(), script(hangs), &memory{})
		if len(n.responses) != 1 || n.responses[0].Text != "half a sen" {
			t.Fatalf("responses %+v", n.responses)
		}
		if f := n.faults[0]; f == nil || f.Fault != bench.FaultCut || !strings.Contains(f.Message, "max_seconds") {
			t.Errorf("fault %v does not name the limit", f)
		}
	})
}

func TestOurOwnFailuresAreErrors(t *testing.T) {
	broken := fmt.Errorf("disk full")
	if _, err := Run(t.Context(), job(), script(submits), &memory{}, &notes{fail: broken}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("journal: error %v", err)
	}
	client := func(context.Context, bench.Request) (bench.Response, error) { return bench.Response{}, broken }
	if _, err := Run(t.Context(), job(), script(client), &memory{}, &notes{}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("client: error %v", err)
	}
	j := job()
	j.Limits.MaxTurns = 0
	if _, err := Run(t.Context(), j, script(submits), &memory{}, &notes{}); err == nil || !strings.Contains(err.Error(), "max_turns") {
		t.Errorf("limits: error %v", err)
	}
}

// A server that counts prompt and max_tokens together refuses what a smaller
// max_tokens would make fit: the request is made again, and nobody is charged.
func TestMaxTokensIsLoweredToWhatFits(t *testing.T) {
	full := fails(bench.EngineError{Fault: bench.FaultContextExceeded, Status: 400, PromptTokens: ptr[int64](2400), ContextSize: ptr[int64](3000)})
	j := job()
	j.Limits.MaxOutputTokens = 4000
	m := script(full, submits)
	got, n := mustRun(t, t.Context(), j, m, &memory{})
	if got.Stop.Reason != bench.StopSubmitted || got.Retries != 0 || len(m.requests) != 2 || m.requests[1].MaxOutputTokens != 600 {
		t.Errorf("stop %+v, %d requests, the second for %d tokens", got.Stop, len(m.requests), m.requests[len(m.requests)-1].MaxOutputTokens)
	}
	found := false
	for _, s := range n.steps {
		found = found || s.Kind == bench.StepRetry && strings.Contains(s.Answer, "at most 600 tokens")
	}
	if !found {
		t.Errorf("no step says that less was asked for: %+v", n.steps)
	}
	// Nothing is left to lower when the prompt itself fills the context.
	m = script(fails(bench.EngineError{Fault: bench.FaultContextExceeded, Status: 400, PromptTokens: ptr[int64](2900), ContextSize: ptr[int64](3000)}))
	if got, _ := mustRun(t, t.Context(), j, m, &memory{}); got.Stop.Reason != bench.StopContextExceeded || len(m.requests) != 1 {
		t.Errorf("stop %+v after %d requests", got.Stop, len(m.requests))
	}
}

// A template may drop old reasoning: the next prompt is then much shorter than
// prompt and answer before it.
func TestReasoningIsNotCountedAsHistory(t *testing.T) {
	for _, tt := range []struct {
		name     string
		shown    string
		counted  *int64 // reasoning tokens, as the server says
		askedFor int    // in the second request
	}{
		{"share unknown", "because", nil, 48_000},
		{"share known", "because", ptr[int64](40_000), 40_010},
		{"hidden, share known", "", ptr[int64](40_000), 40_010},
		{"shown, share said to be zero", "because", ptr[int64](0), 48_000},
		{"none", "", nil, 10},
	} {
		for _, replay := range []bench.Replay{bench.ReplayAsSent, bench.ReplayStrip} {
			j := job()
			j.Replay, j.Limits.MaxSequenceTokens, j.Limits.MaxOutputTokens = replay, 50_000, 48_000
			long := with(with(calls("list_files", `{}`), counts(2000, 47_990)), func(r *bench.Response) {
				r.Usage.ReasoningTokens = tt.counted
				if r.Reasoning = tt.shown; tt.shown != "" {
					r.ReasoningField = "reasoning_content"
				}
			})
			m := script(long, with(submits, counts(2050, 20)))
			got, _ := mustRun(t, t.Context(), j, m, &memory{})
			if got.Stop.Reason != bench.StopSubmitted || len(m.requests) != 2 || m.requests[1].MaxOutputTokens != tt.askedFor {
				t.Errorf("%s, %s: stop %+v, last of %d requests for %d tokens", tt.name, replay, got.Stop, len(m.requests), m.requests[len(m.requests)-1].MaxOutputTokens)
			}
		}
	}
}
