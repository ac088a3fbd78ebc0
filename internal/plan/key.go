package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"strings"

	"assay/internal/bench"
	"assay/internal/config"

	"github.com/google/shlex"
)

// keyVersion changes whenever the fields of keyed do, or what they mean; work
// done under another version is not reused.
const keyVersion = 1

// keyed is what decides whether work done for a cell may stand for it. Left out
// is what moves without changing the work: address, paths, key_env, what is
// expected of the server, how often an invalid attempt is tried again, and the
// fixture, since a candidate can be judged again.
type keyed struct {
	Version  int      `json:"version"`
	Arm      keyedArm `json:"arm"`
	Task     string   `json:"task"`
	Digest   string   `json:"task_digest"`
	Variant  string   `json:"variant"`
	Seed     int      `json:"seed"`
	Repeat   int      `json:"repeat"`
	Limits   keyedLim `json:"limits"`
	Scaffold string   `json:"scaffold"`
	Reminder bool     `json:"reminder"`
}

type keyedArm struct {
	Name      string                     `json:"name"`
	Model     string                     `json:"model"`
	Command   []string                   `json:"command,omitempty"`
	MTP       *int                       `json:"mtp,omitempty"`
	Parallel  int                        `json:"parallel"`
	Rig       string                     `json:"rig,omitempty"`
	Sampling  keyedSampling              `json:"sampling"`
	ExtraBody map[string]json.RawMessage `json:"extra_body,omitempty"`
	Replay    string                     `json:"replay"`
}

type keyedSampling struct {
	Temperature     *float64 `json:"temperature,omitempty"`
	TopP            *float64 `json:"top_p,omitempty"`
	TopK            *int64   `json:"top_k,omitempty"`
	MinP            *float64 `json:"min_p,omitempty"`
	RepeatPenalty   *float64 `json:"repeat_penalty,omitempty"`
	PresencePenalty *float64 `json:"presence_penalty,omitempty"`
}

type keyedLim struct {
	OutputTokens    int     `json:"max_output_tokens"`
	SequenceTokens  int     `json:"max_sequence_tokens"`
	Turns           int     `json:"max_turns"`
	Seconds         float64 `json:"max_seconds,omitempty"` // absent: auto, whatever it comes to
	CommandTime     float64 `json:"command_seconds"`
	ToolOutputBytes int     `json:"tool_output_bytes"`
	IdleTime        float64 `json:"idle_seconds"`
	MalformedCalls  int     `json:"max_malformed_calls"`
}

// cellKey names a cell by content: sha256, hex, over JSON with fixed field order.
func cellKey(s config.Study, a config.Arm, scaffold string, c bench.PlannedCell) (string, error) {
	command, err := withoutPaths(a.Command)
	if err != nil {
		return "", err
	}
	lim := keyedLim{
		OutputTokens: s.Limits.MaxOutputTokens, SequenceTokens: s.Limits.MaxSequenceTokens, Turns: s.Limits.MaxTurns,
		Seconds: s.Limits.MaxTime.Seconds(), CommandTime: s.Limits.CommandTime.Seconds(),
		ToolOutputBytes: s.Limits.ToolOutputBytes, IdleTime: s.Limits.IdleTime.Seconds(),
		MalformedCalls: s.Limits.MaxMalformedCalls,
	}
	if s.AutoSeconds {
		lim.Seconds = 0
	}
	text, err := json.Marshal(keyed{
		Version: keyVersion,
		Arm: keyedArm{
			Name: a.Name, Model: baseOfPath(a.Model), Command: command, MTP: a.MTP, Parallel: a.Parallel, Rig: a.Rig,
			Sampling: keyedSampling(a.Sampling), ExtraBody: a.ExtraBody, Replay: string(a.Replay),
		},
		Task: c.Task, Digest: c.TaskDigest, Variant: string(c.Variant), Seed: c.Seed, Repeat: c.Repeat,
		Limits: lim, Scaffold: scaffold, Reminder: s.Reminder,
	})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// withoutPaths splits a command line and leaves of every path its last part, so
// that moving a build or a model folder changes no key.
func withoutPaths(command string) ([]string, error) {
	argv, err := shlex.Split(command)
	if err != nil {
		return nil, err
	}
	for i, arg := range argv {
		if flag, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
			argv[i] = flag + "=" + baseOfPath(value)
			continue
		}
		argv[i] = baseOfPath(arg)
	}
	return argv, nil
}

// baseOfPath shortens what is plainly a path: rooted, or a model file. Names
// such as "org/model" are identities and stay whole.
func baseOfPath(s string) string {
	for _, prefix := range []string{"/", "./", "../", "~/"} {
		if strings.HasPrefix(s, prefix) {
			return path.Base(s)
		}
	}
	if strings.HasSuffix(s, ".gguf") {
		return path.Base(s)
	}
	return s
}
