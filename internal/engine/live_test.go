package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"assay/internal/bench"
)

// TestLiveLlamaServer drives a real llama-server: ASSAY_TEST_LLAMA_SERVER is its
// binary, ASSAY_TEST_LLAMA_MODEL a small GGUF file with a chat template.
func TestLiveLlamaServer(t *testing.T) {
	binary, model := os.Getenv("ASSAY_TEST_LLAMA_SERVER"), os.Getenv("ASSAY_TEST_LLAMA_MODEL")
	if binary == "" || model == "" {
		t.Skip("SKIP live llama-server: 1 case not run; set ASSAY_TEST_LLAMA_SERVER and ASSAY_TEST_LLAMA_MODEL")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().(*net.TCPAddr)
	_ = l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-m", model, "-c", "8192", "-np", "1", "--jinja", "--host", "127.0.0.1", "--port", fmt.Sprint(addr.Port))
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = cmd.Wait() }()

	zero := 0.0
	arm := bench.Arm{URL: "http://" + addr.String() + "/v1", Sampling: bench.Sampling{Temperature: &zero, TopK: ptr[int64](0), MinP: &zero}}
	var c *Client
	for { // until it listens
		if c, err = Open(ctx, arm, Options{LoadWait: time.Minute}); err == nil || ctx.Err() != nil {
			break
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	defer c.Close()
	o := c.Observed()
	t.Logf("observed %+v, context %v", o, *o.ContextPerSlot)
	if o.Kind != KindLlamaCPP || *o.ContextPerSlot != 8192 || *o.Slots != 1 || o.Build == "" || len(o.TemplateDigest) != 64 || o.Simulated {
		t.Errorf("observed %+v", o)
	}
	for turn := range 3 { // the second and third find the prompt cached
		r, err := c.Respond(ctx, bench.Request{
			Messages: []bench.Message{
				{Role: bench.RoleUser, Content: "Tell me a story."},
				{Role: bench.RoleAssistant, ToolCalls: []bench.ToolCall{{ID: "c1", Name: "run", Arguments: `{"command":"ls"}`}}},
				{Role: bench.RoleTool, ToolCallID: "c1", Content: ""},
				{Role: bench.RoleAssistant, Content: "Once.", Reasoning: "hm", ReasoningField: "reasoning_content"},
				{Role: bench.RoleUser, Content: "Go on."},
			},
			Tools:           []bench.Tool{{Name: "run", Description: "Runs a command.", Parameters: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`)}},
			MaxOutputTokens: 48,
			Seed:            1,
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.Timings == nil || !r.NativeDecode() || !r.Complete {
			t.Fatalf("response %+v", r)
		}
		m := r.Marks
		t.Logf("turn %d: %d tokens in %d events, %.3f s native decode, cache_n %d, prompt_n %d, TTFT %s, last token %s, end %s, finish %s, text %q",
			turn, *r.OutputTokens(), r.TokenEvents, *r.DecodeSeconds(), *r.Timings.CacheN, *r.Timings.PromptN, *m.FirstToken, *m.LastToken, *m.End, r.FinishRaw, r.Text)
		if *r.PromptTokens() != *r.Timings.CacheN+*r.Timings.PromptN || *r.OutputTokens() != *r.Usage.CompletionTokens {
			t.Errorf("counts disagree: %+v %+v", r.Usage, *r.Timings)
		}
		client := (*m.LastToken - *m.FirstToken).Seconds()
		if native := *r.DecodeSeconds(); native > client+0.05 {
			t.Errorf("native decode %.3f s is longer than %.3f s on our clock", native, client)
		}
	}
	_, err = c.Respond(ctx, bench.Request{Messages: []bench.Message{{Role: bench.RoleUser, Content: strings.Repeat("word ", 20000)}}, MaxOutputTokens: 8})
	if e := faultOf(t, err); e.Fault != bench.FaultContextExceeded || *e.ContextSize != 8192 || *e.PromptTokens < 8192 {
		t.Errorf("error %+v", e)
	}
	arm.Model = "other"
	_, err = Open(ctx, arm, Options{})
	if e := faultOf(t, err); e.Fault != bench.FaultNotFound {
		t.Errorf("error %v", err)
	}
}
