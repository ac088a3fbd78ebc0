package agent

import (
	"crypto/sha256"

	"assay/internal/bench"
)

// repeats detects a model that goes round in a circle.
type repeats struct {
	last  [sha256.Size]byte
	run   int // equal calls with equal answers in a row
	seen  map[[sha256.Size]byte]bool
	stale int // turns in a row that held nothing new

	newInTurn bool
}

// call notes an answered call and returns how often in a row it came.
func (r *repeats) call(c bench.ToolCall, answer string) int {
	key := sum(c.Name, c.Arguments, answer)
	if r.seen == nil {
		r.seen = map[[sha256.Size]byte]bool{}
	}
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
	if r.seen == nil {
		r.seen = map[[sha256.Size]byte]bool{}
	}
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
