package results

import (
	"encoding/json"
	"fmt"
	"time"

	"assay/internal/bench"
)

// The JSON documents inside columns. Their keys are part of the format, so they
// are spelled here and not taken from names of Go fields. Durations are integers
// in nanoseconds.

type samplingDoc struct {
	Temperature     *float64 `json:"temperature,omitempty"`
	TopP            *float64 `json:"top_p,omitempty"`
	TopK            *int64   `json:"top_k,omitempty"`
	MinP            *float64 `json:"min_p,omitempty"`
	RepeatPenalty   *float64 `json:"repeat_penalty,omitempty"`
	PresencePenalty *float64 `json:"presence_penalty,omitempty"`
}

type armDoc struct {
	Name      string                     `json:"name"`
	URL       string                     `json:"url,omitempty"`
	Command   string                     `json:"command,omitempty"`
	Model     string                     `json:"model,omitempty"`
	KeyEnv    string                     `json:"key_env,omitempty"`
	Sampling  samplingDoc                `json:"sampling"`
	ExtraBody map[string]json.RawMessage `json:"extra_body,omitempty"`
	Replay    bench.Replay               `json:"replay_reasoning,omitempty"`
}

func armToDoc(a bench.Arm) armDoc {
	return armDoc{
		Name: a.Name, URL: withoutUser(a.URL), Command: withoutKeys(a.Command), Model: a.Model, KeyEnv: a.KeyEnv,
		Sampling: samplingDoc(a.Sampling), ExtraBody: withoutSecrets(a.ExtraBody), Replay: a.Replay,
	}
}

func (d armDoc) arm() bench.Arm {
	return bench.Arm{
		Name: d.Name, URL: d.URL, Command: d.Command, Model: d.Model, KeyEnv: d.KeyEnv,
		Sampling: bench.Sampling(d.Sampling), ExtraBody: d.ExtraBody, Replay: d.Replay,
	}
}

type observedDoc struct {
	Kind           string            `json:"kind,omitempty"`
	Build          string            `json:"build,omitempty"`
	Model          string            `json:"model,omitempty"`
	Served         []string          `json:"served,omitempty"`
	ContextPerSlot *int64            `json:"context_per_slot,omitempty"`
	Slots          *int64            `json:"slots,omitempty"`
	TemplateDigest string            `json:"template_digest,omitempty"`
	ModelPath      string            `json:"model_path,omitempty"`
	Simulated      bool              `json:"simulated"`
	Sampling       map[string]string `json:"sampling,omitempty"`
}

type environmentDoc struct {
	Kind           string      `json:"kind,omitempty"`
	Root           string      `json:"root,omitempty"`
	Python         string      `json:"python,omitempty"`
	PackagesDigest string      `json:"packages_digest,omitempty"`
	Enforces       enforcesDoc `json:"enforces"`
}

type enforcesDoc struct {
	Memory    bool `json:"memory"`
	Processes bool `json:"processes"`
	Disk      bool `json:"disk"`
	Inodes    bool `json:"inodes"`
	CPU       bool `json:"cpu"`
	Network   bool `json:"network"`
	UID       bool `json:"uid"`
}

func environmentToDoc(e bench.Environment) environmentDoc {
	return environmentDoc{
		Kind: e.Kind, Root: e.Root, Python: e.Python, PackagesDigest: e.PackagesDigest,
		Enforces: enforcesDoc(e.Enforces),
	}
}

func (d environmentDoc) environment() bench.Environment {
	return bench.Environment{
		Kind: d.Kind, Root: d.Root, Python: d.Python, PackagesDigest: d.PackagesDigest,
		Enforces: bench.Enforces(d.Enforces),
	}
}

type limitsDoc struct {
	MaxOutputTokens   int           `json:"max_output_tokens"`
	MaxSequenceTokens int           `json:"max_sequence_tokens"`
	MaxTurns          int           `json:"max_turns"`
	MaxTime           time.Duration `json:"max_seconds_ns"`
	CommandTime       time.Duration `json:"command_seconds_ns"`
	ToolOutputBytes   int           `json:"tool_output_bytes"`
	IdleTime          time.Duration `json:"idle_seconds_ns"`
	MaxMalformedCalls int           `json:"max_malformed_calls"`
	InvalidRetries    int           `json:"invalid_retries"`
}

type fixtureLimitsDoc struct {
	Process      processLimitsDoc `json:"process"`
	JudgeSeconds float64          `json:"judge_seconds"`
}

type processLimitsDoc struct {
	Wall        time.Duration `json:"wall_ns"`
	CPU         time.Duration `json:"cpu_ns"`
	OutputBytes int64         `json:"output_bytes"`
	KeepBytes   int64         `json:"keep_bytes"`
	MemoryBytes int64         `json:"memory_bytes"`
	FileBytes   int64         `json:"file_bytes"`
	Processes   int           `json:"processes"`
	OpenFiles   int           `json:"open_files"`
}

type skippedDoc struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

type idleGapDoc struct {
	Elapsed  time.Duration `json:"elapsed_ns"`
	FileOnly bool          `json:"file_only"`
}

type frameDoc struct {
	Seq   int    `json:"seq"`
	From  string `json:"from"`
	Bytes []byte `json:"bytes"` // base64
}

// each converts the elements of a list; a nil list stays nil.
func each[A, B any](in []A, f func(A) B) []B {
	if in == nil {
		return nil
	}
	out := make([]B, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}

// document is JSON for a column that must not be NULL.
func document(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode %T: %w", v, err)
	}
	return string(data), nil
}

// list is JSON for a column in which NULL is the nil list or map.
func list[T ~[]E, E any](v T) (*string, error) {
	if v == nil {
		return nil, nil
	}
	s, err := document(v)
	return &s, err
}

// parse reads a document back; NULL leaves the zero value.
func parse[T any](text *string, into *T) error {
	if text == nil {
		return nil
	}
	if err := json.Unmarshal([]byte(*text), into); err != nil {
		return fmt.Errorf("%w: a document that does not parse: %w", ErrAltered, err)
	}
	return nil
}
