package engine_test

import (
	"context"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/engine"
	"assay/internal/engine/scripted"
)

// The client knows the scripted engine as simulated, in what it reads back and in
// every answer.
func TestScriptedEngineIsSimulated(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s, err := scripted.Serve(ctx, "127.0.0.1:0", scripted.Profile{
		Model: "sim", Key: "k", Speed: scripted.Speed{PrefillTPS: 1000, DecodeTPS: 50, DraftDepth: 2, Acceptance: 0.5},
		Programs: []scripted.Program{{Name: "p", Turns: []scripted.Turn{{Reasoning: "let me see", Text: "looking", Calls: []scripted.Call{scripted.Run("ls")}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(context.Background()) }()
	c, err := engine.Open(ctx, bench.Arm{URL: s.URL(), KeyEnv: "K"}, engine.Options{Getenv: func(string) string { return "k" }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if o := c.Observed(); o.Kind != engine.KindScripted || !o.Simulated || o.Model != "sim" || o.ContextPerSlot == nil {
		t.Errorf("observed %+v", o)
	}
	r, err := c.Respond(ctx, bench.Request{
		Messages:        []bench.Message{{Role: bench.RoleUser, Content: "go"}},
		Tools:           []bench.Tool{{Name: "run", Parameters: []byte(`{"type":"object"}`)}},
		MaxOutputTokens: 1000, Seed: 1,
	})
	if err != nil || !r.Complete || r.Simulated == nil || *r.Simulated <= 0 {
		t.Fatalf("error %v, response %+v", err, r)
	}
	if r.Reasoning != "let me see" || r.Text != "looking" || len(r.ToolCalls) != 1 || r.ToolCalls[0].Name != "run" || r.Finish != bench.FinishToolCalls ||
		r.Timings == nil || r.Timings.DraftN == nil || !r.NativeDecode() {
		t.Errorf("response %+v", r)
	}
}
