package agent

import (
	"crypto/sha256"
	"regexp"

	"assay/internal/bench"
)

// timing matches what changes from run to run in the output of the same test
// command: "Ran 3 tests in 0.080s", "finished in 12.4 ms".
const timing = `[0-9]+\.[0-9]+ ?(s|ms|us|µs|sec|secs|seconds)\b`

// repeats detects a model that goes round in a circle.
type repeats struct {
	last  [sha256.Size]byte
	run   int // equal calls with equal answers in a row
	time  *regexp.Regexp
	seen  map[[sha256.Size]byte]bool
	stale int // turns in a row that held nothing new

	newInTurn bool
}

func newRepeats() repeats {
	return repeats{time: regexp.MustCompile(timing), seen: map[[sha256.Size]byte]bool{}}
}

// call notes an answered call and returns how often in a row it came. Answers
// that differ in timings only are the same answer.
func (r *repeats) call(c bench.ToolCall, answer string) int {
	key := sum(c.Name, c.Arguments, r.time.ReplaceAllString(answer, "#"))
	if !r.seen[key] {
		r.newInTurn = true
	}
	r.seen[key] = true
	if r.run > 0 && key == r.last {
		r.run++
	} else {
		r.last, r.run = key, 1
	}
	return r.run
}

// turn closes a turn that called tools. The turn is stale if its text and every
// call with its answer had all occurred before.
func (r *repeats) turn(text string) int {
	key := sum("", "", text)
	if text != "" && !r.seen[key] {
		r.newInTurn = true
	}
	r.seen[key] = true
	r.stale++
	if r.newInTurn {
		r.stale = 0
	}
	r.newInTurn = false
	return r.stale
}

func sum(name, args, answer string) [sha256.Size]byte {
	h := sha256.New()
	for _, s := range []string{name, args, answer} {
		part := sha256.Sum256([]byte(s))
		h.Write(part[:])
	}
	return [sha256.Size]byte(h.Sum(nil))
}
