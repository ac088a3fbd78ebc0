package bench

import "encoding/json"

// Sampling are the sampler settings that are sent explicitly. Nil: not sent, the
// server's default holds.
type Sampling struct {
	Temperature     *float64
	TopP            *float64
	TopK            *int64
	MinP            *float64
	RepeatPenalty   *float64
	PresencePenalty *float64
}

// Replay says what happens to reasoning in the history.
type Replay string

// Reasoning goes back in the field in which it came, or is left out.
const (
	ReplayAsSent Replay = "as_sent"
	ReplayStrip  Replay = "strip"
)

// Arm is the declared part of an arm: a checkpoint with its server settings as
// the study file gives them.
type Arm struct {
	Name      string
	URL       string // base URL of a running server
	Command   string // command line of a server that assay starts; not together with URL
	Model     string // id sent in requests; empty: the one that the server lists
	KeyEnv    string // environment variable that holds the API key; the key is never stored
	Sampling  Sampling
	ExtraBody map[string]json.RawMessage // further fields of every request body
	Replay    Replay
}
