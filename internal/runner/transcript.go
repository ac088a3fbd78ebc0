package runner

import (
	"context"

	"assay/internal/bench"
)

// transcript writes one attempt's responses and steps as they happen. It
// outlives the run's context: what a cancelled call left is kept.
type transcript struct {
	recorder Journal
	sums     *tally
}

func (t transcript) Response(ctx context.Context, turn int, r bench.Response, fault *bench.EngineError) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	t.sums.response(r)
	return t.recorder.AddResponse(ctx, t.sums.ID, turn, r, fault)
}

func (t transcript) Step(ctx context.Context, s bench.Step) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return t.recorder.AddStep(ctx, t.sums.ID, s)
}

// tally sums an attempt as it runs, for the events of the run. The report sums
// the recorded rows again.
type tally struct{ bench.AttemptRow }

func (t *tally) response(r bench.Response) {
	t.Responses++
	if !r.NativeDecode() {
		t.OtherRows++
		return
	}
	t.NativeRows++
	t.NativeTokens += *r.Timings.PredictedN
	t.DecodeMS += *r.Timings.PredictedMS
}

func (t *tally) end(e bench.AttemptEnd) {
	t.Ended = true
	t.Stop = e.Result.Stop
	t.Counts = !e.Result.Stop.Reason.Invalid()
	t.Turns = e.Result.Turns
	seconds := e.Result.TaskTime.Seconds()
	t.TaskSeconds = &seconds
	t.BadCalls = e.Result.BadCalls
	t.ProtectedTouched = e.ProtectedTouched
	if e.Candidate != nil {
		t.Candidate, t.Rejected = e.Candidate.ID, e.Candidate.Rejected
	}
}
