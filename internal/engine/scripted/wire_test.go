package scripted

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/internal/bench"
	"assay/internal/wire"
)

// What we write, our own parser reads.
func TestWireReadsIt(t *testing.T) {
	p := card(program(Turn{Reasoning: "I think of über.", Text: "So — done.", Calls: []Call{Run("ls"), Submit()}}))
	p.Speed.DraftDepth, p.Speed.Acceptance = 3, 0.8
	for _, tt := range []struct {
		name, fields string
		finish       bench.Finish
	}{
		{"whole", ``, bench.FinishToolCalls},
		{"stream", `,"stream":true`, bench.FinishToolCalls},
		{"stream with usage", usageStream, bench.FinishToolCalls},
		{"stream with all", `,"timings_per_token":true,"return_progress":true` + usageStream, bench.FinishToolCalls},
		{"cut", `,"max_tokens":30` + usageStream, bench.FinishLength},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := ask(t, start(t, p), "t", tt.fields).body
			parser := wire.NewParser(wire.Limits{})
			if err := parser.Feed(body, time.Millisecond); err != nil {
				t.Fatal(err)
			}
			r, err := parser.End(time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			if !r.Complete || r.Finish != tt.finish || r.Reasoning != "I think of über." || r.Text != "So — done." {
				t.Errorf("complete %v, finish %q, reasoning %q, text %q", r.Complete, r.Finish, r.Reasoning, r.Text)
			}
			if r.ReasoningField != "reasoning_content" || r.Model != "card" || r.Fingerprint != Build {
				t.Errorf("field %q, model %q, fingerprint %q", r.ReasoningField, r.Model, r.Fingerprint)
			}
			if tt.finish == bench.FinishToolCalls {
				var calls [][2]string
				for _, c := range r.ToolCalls {
					calls = append(calls, [2]string{c.Name, c.Arguments})
				}
				if diff := cmp.Diff([][2]string{{"run", `{"command":"ls"}`}, {"submit", `{}`}}, calls); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
			}
			if !r.NativeDecode() || r.Timings.DraftN == nil || r.Timings.PromptMS == nil {
				t.Fatalf("timings %+v", r.Timings)
			}
			want := time.Duration((*r.Timings.PromptMS + *r.Timings.PredictedMS) * 1e6)
			if r.Simulated == nil || (*r.Simulated-want).Abs() > time.Microsecond {
				t.Errorf("simulated %v, want %v", r.Simulated, want)
			}
		})
	}
}

func BenchmarkStream(b *testing.B) {
	p := card(program(Turn{Calls: []Call{WriteFile("a.py", strings.Repeat("x = 1\n", 700))}}))
	s, err := Serve(b.Context(), "127.0.0.1:0", p)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close(b.Context())
	a, err := play(p.Programs[0], chatRequest{}, DefaultContextPerSlot)
	if err != nil {
		b.Fatal(err)
	}
	out := newAnswerer(s.profile, newRun(s.profile, a, 1, 10, 0), nil)
	for b.Loop() {
		for i, t := range out.tokens {
			for _, c := range out.tokenChunks(i, t, false) {
				if _, err := marshal(c); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.ReportMetric(float64(len(out.tokens))*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}
