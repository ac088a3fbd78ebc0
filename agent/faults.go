package agent

import (
	"context"
	"fmt"
	"time"

	"assay/internal/bench"
)

// transient faults may be gone after a wait. Our own idle limit is not one: a call
// that stalled once would only cost its time again.
func transient(f bench.EngineFault) bool {
	switch f {
	case bench.FaultUnreachable, bench.FaultCut, bench.FaultServer, bench.FaultLoading, bench.FaultRateLimited,
		bench.FaultProtocol: // one broken event says little; a server of another kind repeats it
		return true
	}
	return false
}

// pause is the wait before retry n (from 1): what the server asked for, within
// bounds, else a growing one.
func pause(fault *bench.EngineError, n int) time.Duration {
	busy := fault.Fault == bench.FaultRateLimited || fault.Fault == bench.FaultLoading
	if busy && fault.RetryAfter > 0 {
		return min(fault.RetryAfter, maxServerWait)
	}
	d := quickBackoff
	if busy {
		d = slowBackoff
	}
	for range n - 1 {
		d *= backoffFactor
	}
	return d
}

// backOff waits before a retry. The lost call and the wait are no task time.
func (a *attempt) backOff(ctx context.Context, fault *bench.EngineError, lost time.Duration, n int) (*bench.Stop, error) {
	a.result.Retries++
	d := pause(fault, n)
	start := time.Now()
	err := wait(ctx, d)
	took := time.Since(start)
	a.clock.replace(lost+took, 0)
	if stepErr := a.step(ctx, bench.Step{
		Turn: a.result.Turns + 1, Kind: bench.StepRetry, OK: err == nil, Start: start, Elapsed: took,
		Answer: fmt.Sprintf("%s; waited %s before retry %d of %d", describeFault(fault), seconds(took), n, engineRetries),
	}); stepErr != nil {
		return nil, stepErr
	}
	if err != nil {
		return a.ended(ctx), nil
	}
	return nil, nil
}

func describeFault(fault *bench.EngineError) string { return show([]byte(fault.Error()), 0, 1000).text }

// faultStop is the end that an engine fault makes.
func (a *attempt) faultStop(r bench.Response, fault *bench.EngineError, retries int) *bench.Stop {
	words := describeFault(fault)
	switch fault.Fault {
	case bench.FaultContextExceeded:
		return contextStop(fault, words)
	case bench.FaultTooManyCalls:
		return &bench.Stop{Reason: bench.StopMalformedCalls, Limit: "tool_calls_per_answer", Message: "the model wrote a flood of calls: " + words}
	case bench.FaultTooLarge:
		return answerStop(r, words)
	case bench.FaultIdle:
		limit := seconds(a.job.Limits.IdleTime)
		return &bench.Stop{
			Reason: bench.StopEngineLost, Limit: "idle_seconds", Value: limit,
			Message: fmt.Sprintf("the engine was silent for longer than the limit idle_seconds %s: %s", limit, words),
		}
	}
	if transient(fault.Fault) && fault.Fault != bench.FaultProtocol {
		return &bench.Stop{Reason: bench.StopEngineLost, Message: fmt.Sprintf("the engine was lost after %s of the request, %d of the attempt: %s",
			countedRetries(retries), a.result.Retries, words)}
	}
	return &bench.Stop{Reason: bench.StopEngineRejected, Message: "the engine refused the request or spoke another protocol: " + words}
}

// answerStop is the end that an answer makes which our client refused. The limit
// tells it from a server that refuses requests.
func answerStop(r bench.Response, words string) *bench.Stop {
	stop := &bench.Stop{Reason: bench.StopEngineRejected, Limit: "answer_bytes", Message: "our client gave up an answer that is too long: " + words}
	if kept := len(r.Raw); int64(kept) < r.RawTotal { // what is kept is cut at the limit
		stop.Value, stop.Reached = counted(kept, "byte"), counted(int(r.RawTotal), "byte")
	}
	return stop
}

func countedRetries(n int) string {
	if n == 1 {
		return "1 retry"
	}
	return fmt.Sprintf("%d retries", n)
}

func contextStop(fault *bench.EngineError, words string) *bench.Stop {
	prompt, size := "an unknown number of tokens", "unknown"
	if fault.PromptTokens != nil {
		prompt = tokens(*fault.PromptTokens)
	}
	if fault.ContextSize != nil {
		size = tokens(*fault.ContextSize)
	}
	what := "does not fit the server's context"
	if fault.PromptTokens != nil && fault.ContextSize != nil && *fault.PromptTokens < *fault.ContextSize {
		what = "leaves no room for an answer in the server's context"
	}
	return &bench.Stop{
		Reason: bench.StopContextExceeded, Limit: "context", Value: size, Reached: prompt,
		Message: fmt.Sprintf("the prompt of %s %s (n_ctx %s): %s", prompt, what, size, words),
	}
}
