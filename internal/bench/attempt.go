package bench

import "time"

// StopReason says why an attempt ended. The set is closed.
type StopReason string

// The reasons of attempts that count.
const (
	StopSubmitted          StopReason = "submitted"
	StopFinalMessage       StopReason = "final_message"
	StopOutputLimit        StopReason = "output_limit"
	StopSequenceLimit      StopReason = "sequence_limit"
	StopTurnLimit          StopReason = "turn_limit"
	StopTimeLimit          StopReason = "time_limit"
	StopContextExceeded    StopReason = "context_exceeded"
	StopMalformedCalls     StopReason = "malformed_calls"
	StopNoProgress         StopReason = "no_progress"
	StopEmptyResponses     StopReason = "empty_responses"
	StopReasoningExhausted StopReason = "reasoning_exhausted"
	StopModelRefused       StopReason = "model_refused"
)

// The reasons of invalid attempts: our side failed.
const (
	StopEngineLost     StopReason = "engine_lost"
	StopEngineChanged  StopReason = "engine_changed"
	StopEngineRejected StopReason = "engine_rejected"
	StopSandboxLost    StopReason = "sandbox_lost"
	StopGraderFault    StopReason = "grader_fault"
	StopInterrupted    StopReason = "interrupted"
)

// StopReasons lists the closed set, those that count first.
func StopReasons() []StopReason {
	return []StopReason{
		StopSubmitted, StopFinalMessage, StopOutputLimit, StopSequenceLimit, StopTurnLimit, StopTimeLimit,
		StopContextExceeded, StopMalformedCalls, StopNoProgress, StopEmptyResponses, StopReasoningExhausted,
		StopModelRefused,
		StopEngineLost, StopEngineChanged, StopEngineRejected, StopSandboxLost, StopGraderFault, StopInterrupted,
	}
}

// Invalid reports whether the reason means that our side failed.
func (r StopReason) Invalid() bool {
	switch r {
	case StopEngineLost, StopEngineChanged, StopEngineRejected, StopSandboxLost, StopGraderFault, StopInterrupted:
		return true
	}
	return false
}

// HandedOver reports whether the agent itself handed the work over.
func (r StopReason) HandedOver() bool { return r == StopSubmitted || r == StopFinalMessage }

// Stop is a stop reason with what happened in words and, for a limit, its name,
// value and the value reached.
type Stop struct {
	Reason  StopReason
	Message string
	Limit   string // name of the limit that fired, e.g. "max_output_tokens"; empty: none
	Value   string // its value with unit
	Reached string // what was reached, with unit
}

// BadCall tells the six kinds of bad tool call apart.
type BadCall string

// The kinds of bad call.
const (
	BadTruncated    BadCall = "truncated"     // the response was cut inside a call
	BadNoCall       BadCall = "no_call"       // neither call nor submission
	BadUnknownTool  BadCall = "unknown_tool"  // no tool of that name
	BadJSON         BadCall = "bad_json"      // arguments are not JSON
	BadNotObject    BadCall = "not_object"    // arguments are JSON, but no object
	BadMissingField BadCall = "missing_field" // a required field is absent or has the wrong type
)

// BadCalls lists the kinds in the order of the docs.
func BadCalls() []BadCall {
	return []BadCall{BadTruncated, BadNoCall, BadUnknownTool, BadJSON, BadNotObject, BadMissingField}
}

// StepKind says what a step of a transcript is.
type StepKind string

// The kinds of step.
const (
	StepModel    StepKind = "model"    // one model call
	StepTool     StepKind = "tool"     // one tool call with its answer
	StepReminder StepKind = "reminder" // our reminder after a turn without call
	StepRetry    StepKind = "retry"    // an infrastructure fault and its back-off
)

// Step is one entry of a transcript, written as it happens.
type Step struct {
	Index     int // from 0 within the attempt
	Turn      int // from 1
	Kind      StepKind
	Tool      string  // tool name as the model wrote it
	CallID    string  // tool call id
	Arguments string  // raw arguments as the model wrote them
	Answer    string  // what the model was told
	Bad       BadCall // empty: a good call
	OK        bool    // the tool did what was asked
	Start     time.Time
	Elapsed   time.Duration
}

// AgentResult is what an agent loop made of one attempt.
type AgentResult struct {
	Stop       Stop
	Turns      int           // model calls that were answered
	TaskTime   time.Duration // first request to stop, monotonic; without infrastructure back-off
	BadCalls   map[BadCall]int
	Reminders  int
	EngineIdle []IdleGap // between two requests of the attempt
	Retries    int       // infrastructure retries inside the attempt
}

// IdleGap is the time between the end of one response and the start of the next
// request of an attempt.
type IdleGap struct {
	Elapsed  time.Duration
	FileOnly bool // only file tools ran in it
}
