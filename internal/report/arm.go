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
	arm      Arm
	tokens   int64
	decodeMS float64
	counting clocked
	complete clocked // those of the counting attempts whose cell is complete
	idle     []time.Duration
}

// clocked sums task seconds over attempts.
type clocked struct {
	seconds  float64
	attempts int
	unknown  int // attempts whose task seconds are not known
}

func (c *clocked) add(seconds *float64) {
	c.attempts++
	if seconds == nil {
		c.unknown++
		return
	}
	c.seconds += *seconds
}

// cell adds one planned cell with all its tries, oldest first.
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
		// A run that was stopped or killed, or goes on, says nothing about the arm.
		if newest := tries[len(tries)-1]; !newest.Ended || newest.Stop.Reason == bench.StopInterrupted {
			s.arm.Open++
		} else {
			s.arm.Invalid++
		}
		return
	}
	a := tries[i]
	switch {
	case a.Grading == nil:
		s.arm.Ungraded++
	case a.Grading.Fault != "":
		s.arm.Invalid++
	default:
		s.arm.Complete++
		s.complete.add(a.TaskSeconds)
	}
	s.attempt(a)
}

// attempt adds a counting attempt.
func (s *sums) attempt(a bench.AttemptRow) {
	s.arm.Attempts++
	s.counting.add(a.TaskSeconds)
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
	s.arm.Scored = s.arm.Complete > 0 && !s.arm.tooInvalid()
	s.speed()
	s.perDelivered()
	if s.arm.Drafted == nil {
		s.arm.NA["draft_tokens"] = "no drafts on the wire: speculation off, or none drafted"
	}
	s.arm.EngineIdle = idle(s.idle)
	if len(s.arm.NA) == 0 {
		s.arm.NA = nil
	}
	return s.arm
}

// na says why figures are unknown.
func (s *sums) na(reason string, figures ...string) {
	for _, f := range figures {
		s.arm.NA[f] = reason
	}
}

const noAttempt = "no attempt that counts"

// speed computes tokens, seconds and rates over the counting attempts.
func (s *sums) speed() {
	a := &s.arm
	a.Basis = "native"
	if a.NativeResponses == 0 {
		a.Basis = "n/a"
		reason := "no response with the engine's own timing"
		if a.Attempts == 0 {
			reason = noAttempt
		}
		s.na(reason, "native_output_tokens", "decode_seconds", "decode_tps", "task_output_tps")
	} else {
		tokens, seconds := s.tokens, s.decodeMS/1000
		a.NativeOutputTokens, a.DecodeSeconds = &tokens, &seconds
		a.DecodeTPS = ratio(float64(tokens), seconds)
	}
	if why := s.counting.lacks(noAttempt); why != "" {
		s.na(why, "task_seconds", "task_output_tps")
		return
	}
	t := s.counting.seconds
	a.TaskSeconds = &t
	if a.NativeOutputTokens != nil {
		if a.TaskOutputTPS = ratio(float64(s.tokens), t); a.TaskOutputTPS == nil {
			s.na(noTime, "task_output_tps")
		}
	}
}

const noTime = "the task seconds are 0"

// perDelivered computes the two figures that need verdicts, so over the complete
// cells alone: the seconds of an attempt that waits for its grading would stand
// against nothing delivered.
func (s *sums) perDelivered() {
	a := &s.arm
	const per, rate = "task_seconds_per_delivered", "delivered_per_hour"
	if a.tooInvalid() {
		s.na("more than 10 % of the tried cells are invalid", per, rate)
		return
	}
	none := "no complete cell"
	if a.Attempts == 0 {
		none = noAttempt
	}
	if why := s.complete.lacks(none); why != "" {
		s.na(why, per, rate)
		return
	}
	if a.SecondsPerDelivered = ratio(s.complete.seconds, float64(a.Delivered)); a.SecondsPerDelivered == nil {
		s.na("nothing delivered", per)
	}
	if a.DeliveredPerHour = ratio(3600*float64(a.Delivered), s.complete.seconds); a.DeliveredPerHour == nil {
		s.na(noTime, rate)
	}
}

// lacks says why the sum is no figure; none is what to say where there is no
// attempt.
func (c clocked) lacks(none string) string {
	switch {
	case c.attempts == 0:
		return none
	case c.unknown > 0:
		return "an attempt without task seconds"
	}
	return ""
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
