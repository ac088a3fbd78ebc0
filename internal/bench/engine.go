package bench

import (
	"fmt"
	"time"
)

// EngineFault is the kind of an EngineError: what went wrong between us and the
// model server. The agent decides from it what the attempt is.
type EngineFault string

// The kinds of engine fault.
const (
	FaultUnreachable     EngineFault = "unreachable"      // no connection, refused, reset before any answer
	FaultCut             EngineFault = "cut"              // the answer ended without its end mark
	FaultIdle            EngineFault = "idle"             // our idle limit: no token, progress or ping for too long
	FaultUnauthorised    EngineFault = "unauthorised"     // 401, 403
	FaultNotFound        EngineFault = "not_found"        // 404, also an unknown model id
	FaultRateLimited     EngineFault = "rate_limited"     // 429
	FaultLoading         EngineFault = "loading"          // 503
	FaultServer          EngineFault = "server"           // other 5xx, or an error object inside a 200 stream
	FaultRejected        EngineFault = "rejected"         // other 4xx
	FaultContextExceeded EngineFault = "context_exceeded" // the request does not fit the context
	FaultUnparsable      EngineFault = "unparsable"       // the server could not parse its model's own output
	FaultProtocol        EngineFault = "protocol"         // an answer that is not the protocol asked for
	FaultTooLarge        EngineFault = "too_large"        // an answer of more bytes than our cap
	FaultTooManyCalls    EngineFault = "too_many_calls"   // an answer of more tool calls than our cap
)

// EngineError says what a model server did instead of answering.
type EngineError struct {
	Fault   EngineFault
	URL     string // where the request went, without credentials
	Status  int    // HTTP status; 0: none
	Message string // the server's words, bounded, or what happened

	PromptTokens *int64        // context_exceeded: as the server counted them
	ContextSize  *int64        // context_exceeded: as the server said
	RetryAfter   time.Duration // rate_limited, loading: as the server asked; 0: not said
	Err          error         // cause, may be nil
}

func (e *EngineError) Error() string {
	s := fmt.Sprintf("engine at %s: %s", e.URL, e.Fault)
	if e.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *EngineError) Unwrap() error { return e.Err }
