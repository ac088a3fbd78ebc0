package scripted

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// The same requests in the same order give the same bytes but for the clock.
func TestDeterministic(t *testing.T) {
	p := card(program(Turn{Reasoning: "hm", Text: strings.Repeat("word ", 40), Calls: []Call{Run("ls")}}))
	p.Speed.DraftDepth, p.Speed.Acceptance = 3, 0.6
	play := func(seed int) []decoded {
		a := assemble(t, ask(t, start(t, p), "t", fmt.Sprintf(`,"seed":%d,"timings_per_token":true`, seed)+usageStream).body)
		for i := range a.chunks {
			a.chunks[i].Created = 0
		}
		return a.chunks
	}
	if diff := cmp.Diff(play(1), play(1)); diff != "" {
		t.Errorf("a repeat differs:\n%s", diff)
	}
	one, two := play(1), play(2)
	a, b := one[len(one)-1].Timings.MS, two[len(two)-1].Timings.MS
	if a == b || math.Abs(a-b)/a > 0.5 {
		t.Errorf("seeds 1 and 2 decode in %v and %v ms: want a little difference", a, b)
	}
}

func TestRatesFollowTheirFormula(t *testing.T) {
	s := start(t, card(program(Turn{Text: strings.Repeat("word", 200)})))
	near := cmpopts.EquateApprox(1e-12, 0)
	d := decodeOne(t, ask(t, s, "t", `,"seed":5`).body)
	c := d.Timings
	n := float64(c.N - 1)
	if diff := cmp.Diff([2]float64{c.MS / n, n / c.MS * 1000}, [2]float64{c.PerTokenMS, c.PerSecond}, near); diff != "" {
		t.Errorf("rates (-want +got):\n%s", diff)
	}
	// 100 tok/s, within the wander of a request and the mean of 200 steps' jitter.
	if c.PerSecond < 95 || c.PerSecond > 105 {
		t.Errorf("decoded at %v tok/s, profile says 100", c.PerSecond)
	}
	if c.PromptN+c.CacheN != d.Usage.Prompt || c.CacheN != d.Usage.Details.Cached {
		t.Errorf("prompt %d + %d, usage %+v", c.PromptN, c.CacheN, d.Usage)
	}
	if d.Simulated == nil || math.Abs(d.Simulated.ElapsedMS-c.PromptMS-c.MS) > 1e-9 {
		t.Errorf("simulated %+v, timings %+v", d.Simulated, c)
	}
	one := decodeOne(t, ask(t, s, "t", `,"max_tokens":0`).body).Timings
	if one.N != 1 || one.MS != 0.001 || one.PerSecond != 0 || one.PerTokenMS != 0 {
		t.Errorf("one token: %+v", one)
	}
}

func TestCacheIsTheSharedPrefix(t *testing.T) {
	s := start(t, card(program(Turn{Text: "The answer."}, Turn{Text: "More."})))
	post := func(body string) *clock {
		return decodeOne(t, do(t, "POST", s.URL()+"/v1/chat/completions", body).body).Timings
	}
	const first = `{"messages":[{"role":"user","content":"a question of some length"}]}`
	const second = `{"messages":[{"role":"user","content":"a question of some length"},{"role":"assistant","content":"The answer."},{"role":"user","content":"go on"}]}`
	a := post(first)
	if a.CacheN != 0 {
		t.Errorf("first: %d cached", a.CacheN)
	}
	b := post(second)
	if b.CacheN < a.PromptN || b.PromptN >= a.PromptN {
		t.Errorf("the history and its answer should be cached: %+v after %+v", b, a)
	}
	if c := post(second); c.PromptN != 1 {
		t.Errorf("a repeat computes %d tokens, want 1", c.PromptN)
	}
	if c := post(strings.Replace(second, `{"messages"`, `{"cache_prompt":false,"messages"`, 1)); c.CacheN != 0 {
		t.Errorf("cache_prompt false: %d cached", c.CacheN)
	}
}

func TestTimeline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		speed := Speed{
			PrefillTPS: 1000,
			DecodeTPS:  rapid.Float64Range(0.1, 5000).Draw(t, "tps"),
			DraftDepth: rapid.IntRange(0, 8).Draw(t, "depth"),
			Acceptance: rapid.Float64Range(0, 1).Draw(t, "acceptance"),
		}
		n := rapid.IntRange(1, 400).Draw(t, "tokens")
		p := Profile{Model: "m", Speed: speed}
		r := newRun(p, answer{tokens: make([]token, n)}, rapid.Int64().Draw(t, "seed"), 10, 0)
		if len(r.beats) != n {
			t.Fatalf("%d beats for %d tokens", len(r.beats), n)
		}
		steps := 0
		for i := 1; i < n; i++ {
			a, b := r.beats[i-1], r.beats[i]
			switch {
			case b.us < a.us:
				t.Fatalf("token %d comes before token %d", i, i-1)
			case b.us == a.us && b != a:
				t.Fatalf("token %d drafts without a step", i)
			case b.us > a.us:
				steps++
			}
		}
		end := r.beats[n-1]
		if end.landed > end.drafted {
			t.Fatalf("%d of %d drafts accepted", end.landed, end.drafted)
		}
		if want := n - 1 - int(end.landed); steps != want {
			t.Fatalf("%d steps, want tokens - 1 - accepted = %d", steps, want)
		}
		tm := r.timings(n - 1)
		if (tm.DraftN > 0) != (tm.DraftNAccepted != nil) {
			t.Fatalf("drafts %d with accepted %v", tm.DraftN, tm.DraftNAccepted)
		}
	})
}

func TestDraftsMeetTheirProfile(t *testing.T) {
	p := card()
	p.Speed.DraftDepth, p.Speed.Acceptance = 3, 0.7
	var tokens, us, drafted, landed int64
	for seed := range int64(50) {
		r := newRun(p, answer{tokens: make([]token, 1000)}, seed, 10, 0)
		end := r.beats[999]
		tokens, us = tokens+999, us+end.us
		drafted, landed = drafted+end.drafted, landed+end.landed
	}
	// 50 requests wander by at most 3 % each; their mean stays within 1.5 %.
	if rate := float64(tokens) / float64(us) * 1e6; math.Abs(rate-100) > 1.5 {
		t.Errorf("%v tok/s, profile says 100", rate)
	}
	if share := float64(landed) / float64(drafted); math.Abs(share-0.7) > 0.02 {
		t.Errorf("acceptance %v, profile says 0.7", share)
	}
}
