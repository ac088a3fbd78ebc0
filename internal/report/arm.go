package report

import (
	"slices"
	"time"

	"assay/internal/bench"
)

// buildArm sums an arm's counting attempts over its planned cells.
func buildArm(av bench.ArmView, cells []bench.PlannedCell, byCell map[bench.Cell][]bench.AttemptRow) Arm {
	s := sums{arm: Arm{Stops: map[string]int{}, BadCalls: map[string]int{}, NA: map[string]string{}}}
	if o := av.Observed; o != nil {
		s.arm.Server = Server{Kind: o.Kind, Build: o.Build, Model: o.Model, ContextPerSlot: o.ContextPerSlot, Slots: o.Slots, Simulated: o.Simulated}
	}
	for _, cell := range cells {
		if cell.Arm == av.Arm.Name {
			s.cell(byCell[cell.Cell])
		}
	}
	return s.finish()
}

// sums gathers what an arm's figures are made of.
type sums struct {
	arm         Arm
	tokens      int64
	decodeMS    float64
	taskSeconds float64
	timed       int // counting attempts whose task seconds are known
	idle        []time.Duration
}

// cell adds one planned cell with all its tries.
func (s *sums) cell(tries []bench.AttemptRow) {
	s.arm.Planned++
	if len(tries) == 0 {
		s.arm.NotRun++
		return
	}
	for _, a := range tries {
		switch {
		case a.Ended:
			s.arm.Stops[string(a.Stop.Reason)]++
		default:
			s.arm.Stops["never_ended"]++
		}
	}
	i := slices.IndexFunc(tries, func(a bench.AttemptRow) bool { return a.Counts })
	if i < 0 {
		s.arm.Invalid++
		return
	}
	a := tries[i]
	switch {
	case a.Grading == nil:
		s.arm.Ungraded++
	case a.Grading.Fault != "":
		s.arm.Invalid++
		return
	default:
		s.arm.Complete++
	}
	s.attempt(a)
}

// attempt adds a counting attempt.
func (s *sums) attempt(a bench.AttemptRow) {
	s.arm.Attempts++
	if a.Functional() {
		s.arm.Functional++
	}
	if a.Delivered() {
		s.arm.Delivered++
	}
	s.arm.NativeResponses += a.NativeRows
	s.arm.OtherResponses += a.OtherRows
	s.tokens += a.NativeTokens
	s.decodeMS += a.DecodeMS
	if a.TaskSeconds != nil {
		s.taskSeconds += *a.TaskSeconds
		s.timed++
	}
	s.arm.Drafted = add(s.arm.Drafted, a.DraftN)
	s.arm.DraftAccepted = add(s.arm.DraftAccepted, a.DraftNAcc)
	for kind, n := range a.BadCalls {
		s.arm.BadCalls[string(kind)] += n
	}
	for _, g := range a.EngineIdle {
		if g.FileOnly {
			s.idle = append(s.idle, g.Elapsed)
		}
	}
}

func add(sum, n *int64) *int64 {
	if n == nil {
		return sum
	}
	total := *n
	if sum != nil {
		total += *sum
	}
	return &total
}

// finish computes the figures. A figure without a basis stays nil, with the
// reason beside it.
func (s *sums) finish() Arm {
	a := s.arm
	tried := a.Complete + a.Invalid + a.Ungraded
	a.Scored = a.Complete > 0 && float64(a.Invalid) <= maxInvalid*float64(tried)
	a.Basis = "native"
	if a.NativeResponses == 0 {
		a.Basis = "n/a"
		reason := "no response with the engine's own timing"
		if a.Attempts == 0 {
			reason = "no attempt that counts"
		}
		for _, k := range []string{"native_output_tokens", "decode_seconds", "decode_tps", "task_output_tps"} {
			a.NA[k] = reason
		}
	} else {
		tokens, seconds := s.tokens, s.decodeMS/1000
		a.NativeOutputTokens, a.DecodeSeconds = &tokens, &seconds
		a.DecodeTPS = ratio(float64(tokens), seconds)
	}
	if s.timed == 0 || s.timed < a.Attempts {
		for _, k := range []string{"task_seconds", "task_output_tps", "task_seconds_per_delivered", "delivered_per_hour"} {
			a.NA[k] = "no attempt that counts"
			if a.Attempts > 0 {
				a.NA[k] = "an attempt without task seconds"
			}
		}
	} else {
		t := s.taskSeconds
		a.TaskSeconds = &t
		if a.NativeOutputTokens != nil {
			a.TaskOutputTPS = ratio(float64(s.tokens), t)
		}
		a.SecondsPerDelivered = ratio(t, float64(a.Delivered))
		a.DeliveredPerHour = ratio(3600*float64(a.Delivered), t)
		if a.SecondsPerDelivered == nil {
			a.NA["task_seconds_per_delivered"] = "nothing delivered"
		}
	}
	if a.Drafted == nil {
		a.NA["draft_tokens"] = "no drafts on the wire: speculation off, or none drafted"
	}
	a.EngineIdle = idle(s.idle)
	if len(a.NA) == 0 {
		a.NA = nil
	}
	return a
}

// ratio is a/b, or nil where b is 0.
func ratio(a, b float64) *float64 {
	if b == 0 {
		return nil
	}
	r := a / b
	return &r
}

// idle takes nearest-rank percentiles: the smallest value that at least that
// share of the gaps does not exceed.
func idle(gaps []time.Duration) *Idle {
	if len(gaps) == 0 {
		return nil
	}
	slices.Sort(gaps)
	rank := func(p int) float64 {
		i := (p*len(gaps) + 99) / 100
		return float64(gaps[max(i-1, 0)]) / float64(time.Millisecond)
	}
	return &Idle{N: len(gaps), P50MS: rank(50), P95MS: rank(95)}
}
