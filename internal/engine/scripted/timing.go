package scripted

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// How far times wander: a whole request by its seed, one decode step by chance.
const (
	requestJitter = 0.03
	stepJitter    = 0.05
)

// beat is the engine's state when one token was there. Times are whole
// microseconds, so that sums are exact.
type beat struct {
	us              int64 // since the first token
	drafted, landed int64 // draft tokens so far; landed: accepted
}

// run is an answer with its simulated times.
type run struct {
	answer
	promptTokens int64 // whole prompt
	cached       int64
	promptUS     int64
	beats        []beat // one a token
}

// newRun times an answer. The decode part is a function of profile, program, turn
// and seed alone, the prompt part of these and the two token counts.
func newRun(p Profile, a answer, seed, promptTokens, cached int64) run {
	rng := rand.New(rand.NewPCG(mix(p.Model, a.program, a.turn, seed)))
	wander := 1 + requestJitter*(2*rng.Float64()-1)
	r := run{answer: a, promptTokens: promptTokens, cached: cached}
	r.promptUS = microseconds(float64(promptTokens-cached) / p.Speed.PrefillTPS * wander)
	r.beats = timeline(p.Speed, len(a.tokens), wander, rng)
	return r
}

// timeline spaces n tokens. The first one belongs to the prompt. Each step after it
// yields one token and, with speculation, the accepted part of a draft at the
// same moment; so there are n - 1 - accepted steps.
func timeline(s Speed, n int, wander float64, rng *rand.Rand) []beat {
	perStep := 1 + s.Acceptance*float64(s.DraftDepth)
	seconds := perStep / s.DecodeTPS * wander
	now := beat{us: 1} // what llama.cpp shows for the first token
	out := append(make([]beat, 0, n), now)
	for len(out) < n {
		now.us += microseconds(seconds * (1 + stepJitter*(2*rng.Float64()-1)))
		depth := min(s.DraftDepth, n-len(out)-1)
		landed := int(math.Floor(s.Acceptance*float64(depth) + rng.Float64()))
		landed = min(landed, depth)
		now.drafted += int64(depth)
		now.landed += int64(landed)
		for range landed + 1 {
			out = append(out, now)
		}
	}
	return out
}

func microseconds(seconds float64) int64 {
	return max(1, int64(math.Round(seconds*1e6)))
}

// mix turns what identifies a request into a seed of ours.
func mix(model, program string, turn int, seed int64) (uint64, uint64) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d %d", model, program, turn, seed))
	return binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])
}

// at returns when token i is there, counted from the start of the prompt.
func (r run) at(i int) time.Duration {
	return time.Duration(r.promptUS+r.beats[i].us) * time.Microsecond
}

// elapsed is the whole simulated time of the answer.
func (r run) elapsed() time.Duration { return r.at(len(r.beats) - 1) }

// timings returns the object of that name after token i.
func (r run) timings(i int) *timings {
	b := r.beats[i]
	n := int64(i + 1)
	computed := r.promptTokens - r.cached
	promptMS := float64(r.promptUS) / 1000
	t := &timings{
		CacheN: r.cached, PromptN: computed,
		PromptMS:         number(promptMS),
		PromptPerTokenMS: number(promptMS / float64(computed)),
		PromptPerSecond:  number(1000 / promptMS * float64(computed)),
		PredictedN:       n,
		PredictedMS:      number(float64(b.us) / 1000),
		DraftN:           b.drafted, DraftNAccepted: nil,
	}
	if n > 1 {
		// Both rates leave out the first token, as builds since b10406 do.
		t.PredictedPerTokenMS = t.PredictedMS / number(n-1)
		t.PredictedPerSecond = 1000 / t.PredictedMS * number(n-1)
	}
	if b.drafted > 0 {
		t.DraftNAccepted = &b.landed
	}
	return t
}

// usage returns the token counts of the whole answer.
func (r run) usage() *usage {
	n := int64(len(r.tokens))
	u := &usage{CompletionTokens: n, PromptTokens: r.promptTokens, TotalTokens: n + r.promptTokens}
	u.Details.CachedTokens = r.cached
	return u
}
