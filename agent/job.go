package agent

import (
	"context"
	"fmt"
	"io/fs"

	"assay/internal/bench"
)

// Model answers one request. Its error is a *bench.EngineError, or the context's
// where the call was ended by us; the response then holds what had arrived. Any
// other error is a fault of the client itself and ends the attempt with it.
type Model interface {
	Respond(ctx context.Context, r bench.Request) (bench.Response, error)
}

// Box is the workspace in which the tools act. Paths are relative to it, "." is
// the workspace itself. An error that wraps bench.ErrBoxLost ends the attempt;
// every other one is told to the model.
type Box interface {
	Run(ctx context.Context, c bench.Command) (bench.CommandResult, error)
	// ReadFile refuses a file of more than max bytes.
	ReadFile(ctx context.Context, path string, max int64) ([]byte, error)
	// WriteFile replaces what is there and makes missing parents.
	WriteFile(ctx context.Context, path string, data []byte, mode fs.FileMode) error
	// ListFiles lists recursively; a last entry of kind "truncated" says that
	// there is more than max.
	ListFiles(ctx context.Context, dir string, max int) ([]bench.DirEntry, error)
}

// Journal writes an attempt down as it happens. Its error ends the attempt and is
// returned by Run. It is called with a context that outlives a cancelled attempt.
type Journal interface {
	// Response records a model call of a turn (from 1). fault is nil for a whole
	// answer, else says why the response is not one.
	Response(ctx context.Context, turn int, r bench.Response, fault *bench.EngineError) error
	Step(ctx context.Context, s bench.Step) error
}

// Job is one attempt as the loop is asked to make it.
type Job struct {
	Instruction string
	Limits      bench.Limits
	Seed        int64        // sampler seed of every request
	Replay      bench.Replay // empty: as_sent
	Reminder    bool         // remind once when a turn has neither call nor submission

	// ContextPerSlot is what the server holds for prompt plus output, in tokens;
	// nil: unknown.
	ContextPerSlot *int64
}

func (j Job) check() error {
	l := j.Limits
	for _, v := range []struct {
		name  string
		value int64
	}{
		{"max_output_tokens", int64(l.MaxOutputTokens)},
		{"max_turns", int64(l.MaxTurns)},
		{"max_seconds", int64(l.MaxTime)},
		{"command_seconds", int64(l.CommandTime)},
		{"tool_output_bytes", int64(l.ToolOutputBytes)},
	} {
		if v.value <= 0 {
			return fmt.Errorf("agent: limit %s is %d: give a positive value", v.name, v.value)
		}
	}
	if l.MaxSequenceTokens < 0 || l.MaxMalformedCalls < 0 {
		return fmt.Errorf("agent: limits max_sequence_tokens and max_malformed_calls must not be negative")
	}
	switch j.Replay {
	case "", bench.ReplayAsSent, bench.ReplayStrip:
		return nil
	}
	return fmt.Errorf("agent: unknown replay %q: use %q or %q", j.Replay, bench.ReplayAsSent, bench.ReplayStrip)
}
