package bench

import "time"

// Limits bound one attempt. Every value is positive once a plan is made, but
// MaxSequenceTokens: 0 there means that the context per slot decides, or nothing
// where that is unknown.
type Limits struct {
	MaxOutputTokens   int           // tokens of one response (max_tokens)
	MaxSequenceTokens int           // prompt plus output of one request
	MaxTurns          int           // model calls of one attempt
	MaxTime           time.Duration // task seconds
	CommandTime       time.Duration // wall of one tool command
	ToolOutputBytes   int           // bytes of one tool answer shown to the model
	IdleTime          time.Duration // silence of a model call: no token, progress or ping
	MaxMalformedCalls int           // bad tool calls of one attempt
	InvalidRetries    int           // further tries of a cell whose attempt was invalid
}
