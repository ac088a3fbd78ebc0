package agent

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/bench"
)

// turn is one scripted answer of a model.
type turn func(ctx context.Context, r bench.Request) (bench.Response, error)

// scripted plays its turns and repeats the last one for ever.
type scripted struct {
	turns    []turn
	requests []bench.Request
}

func (m *scripted) Respond(ctx context.Context, r bench.Request) (bench.Response, error) {
	n := min(len(m.requests), len(m.turns)-1)
	r.Messages = slices.Clone(r.Messages)
	m.requests = append(m.requests, r)
	return m.turns[n](ctx, r)
}

func script(turns ...turn) *scripted { return &scripted{turns: turns} }

func whole(edit func(r *bench.Response)) turn {
	return func(context.Context, bench.Request) (bench.Response, error) {
		r := bench.Response{Complete: true, Status: 200, Finish: bench.FinishStop}
		edit(&r)
		return r, nil
	}
}

func says(text string) turn { return whole(func(r *bench.Response) { r.Text = text }) }

func thinks(text string) turn {
	return whole(func(r *bench.Response) { r.Reasoning, r.ReasoningField = text, "reasoning_content" })
}

// calls takes pairs of tool name and raw arguments.
func calls(pairs ...string) turn {
	return whole(func(r *bench.Response) {
		r.Finish = bench.FinishToolCalls
		for i := 0; i < len(pairs); i += 2 {
			r.ToolCalls = append(r.ToolCalls, bench.ToolCall{ID: fmt.Sprintf("id%d", i/2), Name: pairs[i], Arguments: pairs[i+1]})
		}
	})
}

// with changes what another turn answers.
func with(t turn, edit func(r *bench.Response)) turn {
	return func(ctx context.Context, q bench.Request) (bench.Response, error) {
		r, err := t(ctx, q)
		edit(&r)
		return r, err
	}
}

func cutAt(prompt, output int64) func(r *bench.Response) {
	return func(r *bench.Response) {
		r.Finish = bench.FinishLength
		counts(prompt, output)(r)
	}
}

func counts(prompt, output int64) func(r *bench.Response) {
	return func(r *bench.Response) { r.Usage.PromptTokens, r.Usage.CompletionTokens = &prompt, &output }
}

func fails(e bench.EngineError) turn {
	return func(context.Context, bench.Request) (bench.Response, error) {
		e.URL = "http://127.0.0.1:1"
		return bench.Response{Status: e.Status}, &e
	}
}

// hangs answers nothing until the context ends.
func hangs(ctx context.Context, _ bench.Request) (bench.Response, error) {
	<-ctx.Done()
	return bench.Response{Text: "half a sen", Status: 200, RawTotal: 99, Marks: bench.Marks{FirstByte: ptr(time.Second)}}, ctx.Err()
}

// silent never sends a byte.
func silent(ctx context.Context, _ bench.Request) (bench.Response, error) {
	<-ctx.Done()
	return bench.Response{}, ctx.Err()
}

func takes(d time.Duration, t turn) turn {
	return func(ctx context.Context, q bench.Request) (bench.Response, error) {
		select {
		case <-ctx.Done():
			return bench.Response{Text: "half a sen"}, ctx.Err()
		case <-time.After(d):
			return t(ctx, q)
		}
	}
}

var submits = calls("submit", "{}")

// memory is a box of files in a map. Commands go to exec.
type memory struct {
	files    map[string]string
	modes    map[string]fs.FileMode
	exec     func(ctx context.Context, c bench.Command) (bench.CommandResult, error)
	commands []bench.Command
	fail     error // of every operation
}

func (b *memory) Run(ctx context.Context, c bench.Command) (bench.CommandResult, error) {
	b.commands = append(b.commands, c)
	if b.fail != nil {
		return bench.CommandResult{}, b.fail
	}
	if b.exec == nil {
		return bench.CommandResult{Exit: bench.Exit{Reason: bench.ExitExited}}, nil
	}
	return b.exec(ctx, c)
}

func (b *memory) ReadFile(_ context.Context, name string, max int64) ([]byte, error) {
	if b.fail != nil {
		return nil, b.fail
	}
	data, ok := b.files[name]
	switch {
	case !ok:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case int64(len(data)) > max:
		return nil, fmt.Errorf("%s has %d bytes, more than %d", name, len(data), max)
	}
	return []byte(data), nil
}

func (b *memory) WriteFile(_ context.Context, name string, data []byte, mode fs.FileMode) error {
	if b.fail != nil {
		return b.fail
	}
	if b.files == nil {
		b.files = map[string]string{}
	}
	if b.modes == nil {
		b.modes = map[string]fs.FileMode{}
	}
	b.files[name], b.modes[name] = string(data), mode
	return nil
}

func (b *memory) ListFiles(_ context.Context, dir string, max int) ([]bench.DirEntry, error) {
	if b.fail != nil {
		return nil, b.fail
	}
	var out []bench.DirEntry
	for name, data := range b.files {
		if dir == "." || strings.HasPrefix(name, dir+"/") {
			out = append(out, bench.DirEntry{Path: path.Clean(name), Kind: "file", Size: int64(len(data))})
		}
	}
	if len(out) == 0 && dir != "." {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: fs.ErrNotExist}
	}
	slices.SortFunc(out, func(x, y bench.DirEntry) int { return strings.Compare(x.Path, y.Path) })
	if len(out) > max {
		out = append(out[:max], bench.DirEntry{Kind: "truncated"})
	}
	return out, nil
}

// notes is a journal in memory.
type notes struct {
	responses []bench.Response
	faults    []*bench.EngineError
	turns     []int
	steps     []bench.Step
	fail      error
}

func (n *notes) Response(ctx context.Context, turn int, r bench.Response, fault *bench.EngineError) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	n.responses, n.faults, n.turns = append(n.responses, r), append(n.faults, fault), append(n.turns, turn)
	return n.fail
}

func (n *notes) Step(ctx context.Context, s bench.Step) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	n.steps = append(n.steps, s)
	return nil
}

// tools returns the steps of tool calls.
func (n *notes) tools() []bench.Step {
	return slices.DeleteFunc(slices.Clone(n.steps), func(s bench.Step) bool { return s.Kind != bench.StepTool })
}

func job() Job {
	return Job{
		Instruction: "Do it.", Seed: 7, Reminder: true,
		Limits: bench.Limits{
			MaxOutputTokens: 1000, MaxTurns: 40, MaxTime: 10 * time.Minute, CommandTime: 30 * time.Second,
			ToolOutputBytes: 4096, IdleTime: time.Minute, MaxMalformedCalls: 3, InvalidRetries: 1,
		},
	}
}

func mustRun(t testing.TB, ctx context.Context, j Job, m Model, b Box) (bench.AgentResult, *notes) {
	t.Helper()
	n := &notes{}
	r, err := Run(ctx, j, m, b, n)
	if err != nil {
		t.Fatal(err)
	}
	return r, n
}
