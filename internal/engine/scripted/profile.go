package scripted

import (
	"errors"
	"fmt"
	"slices"
)

// Pace says whether an answer takes the time that it claims.
type Pace string

// The paces. The empty Pace is Instant.
const (
	Instant Pace = "instant" // everything at once; the time is only claimed
	Real    Pace = "real"    // the stream comes at the claimed speed
)

// Defaults of a profile that leaves them out.
const (
	DefaultContextPerSlot = 32768 // tokens
	DefaultSlots          = 1
)

// maxClaim bounds the tokens that one part of a turn may claim, and maxDraftDepth
// the tokens drafted in one step.
const (
	maxClaim      = 1 << 18
	maxDraftDepth = 64
	maxSlots      = 256
	maxContext    = 1 << 20
)

// Speed is how fast the simulated card is. Both rates must be positive.
type Speed struct {
	PrefillTPS float64 // computed prompt tokens per second
	DecodeTPS  float64 // output tokens per second, speculation included

	DraftDepth int     // tokens drafted in each decode step; 0: no speculation
	Acceptance float64 // accepted / drafted, 0 to 1
}

// Profile is one simulated server: what it says of itself, how fast it is and
// what it plays.
type Profile struct {
	Model          string // id that it lists and echoes
	ContextPerSlot int    // tokens; 0: DefaultContextPerSlot
	Slots          int    // 0: DefaultSlots
	Speed          Speed
	Programs       []Program // the first that matches a request is played
	Pace           Pace
	Key            string // API key that every path but /health wants; empty: none

	// Public allows an address beyond this machine.
	Public bool
}

// Program is a conversation from the model's side.
type Program struct {
	Name  string
	Task  string  // matches when the first user message contains it; empty: any
	Seeds []int64 // sampler seeds; empty: any
	Turns []Turn
}

// Turn is one answer. Its parts come in the order reasoning, text, calls.
type Turn struct {
	Reasoning string
	Text      string
	Calls     []Call

	// Tokens to claim for reasoning and text; 0: counted, about four bytes each.
	// A claim above the visible text is spread over it, like tokens that a
	// detokenizer holds back.
	ReasoningTokens int
	TextTokens      int

	// Finish is empty, or "length": the turn never ends by itself. It claims every
	// token up to max_tokens, or up to the end of the context where the request
	// has none, and its last call stays open.
	Finish string
}

// FinishLength is the Finish of a turn that runs into max_tokens.
const FinishLength = "length"

// Validate reports all faults of a profile at once.
func (p Profile) Validate() error {
	var errs []error
	for _, f := range p.faults() {
		errs = append(errs, errors.New(f.String()))
	}
	return errors.Join(errs...)
}

// fault is something wrong with one field of a profile. The path is that of the
// profile file: "program[0].turn[1].finish".
type fault struct {
	path string
	text string
}

func (f fault) String() string { return f.path + ": " + f.text }

func (p Profile) faults() []fault {
	var out []fault
	add := func(path, format string, args ...any) {
		out = append(out, fault{path, fmt.Sprintf(format, args...)})
	}
	if p.Model == "" {
		add("model", "is missing")
	}
	if p.ContextPerSlot < 0 || p.ContextPerSlot > maxContext {
		add("context_per_slot", "%d is not between 1 and %d tokens", p.ContextPerSlot, maxContext)
	}
	if p.Slots < 0 || p.Slots > maxSlots {
		add("slots", "%d is not between 1 and %d", p.Slots, maxSlots)
	}
	if !slices.Contains([]Pace{"", Instant, Real}, p.Pace) {
		add("pace", "%q is neither %q nor %q", p.Pace, Instant, Real)
	}
	// Written so that NaN is refused as well.
	if s := p.Speed.PrefillTPS; !(s > 0 && s <= 1e9) {
		add("speed.prefill_tps", "%v is not a positive rate in tokens per second", s)
	}
	if s := p.Speed.DecodeTPS; !(s > 0 && s <= 1e9) {
		add("speed.decode_tps", "%v is not a positive rate in tokens per second", s)
	}
	if d := p.Speed.DraftDepth; d < 0 || d > maxDraftDepth {
		add("speed.draft_depth", "%d is not between 0 and %d", d, maxDraftDepth)
	}
	if a := p.Speed.Acceptance; !(a >= 0 && a <= 1) {
		add("speed.acceptance", "%v is not between 0 and 1", a)
	}
	if len(p.Programs) == 0 {
		add("program", "is missing: a profile plays at least one")
	}
	names := map[string]bool{}
	for i, g := range p.Programs {
		at := fmt.Sprintf("program[%d]", i)
		switch {
		case g.Name == "":
			add(at+".name", "is missing")
		case names[g.Name]:
			add(at+".name", "%q occurs twice", g.Name)
		}
		names[g.Name] = true
		for j, t := range g.Turns {
			out = append(out, t.faults(fmt.Sprintf("%s.turn[%d]", at, j))...)
		}
	}
	return out
}

func (t Turn) faults(at string) []fault {
	var out []fault
	add := func(path, format string, args ...any) {
		out = append(out, fault{at + path, fmt.Sprintf(format, args...)})
	}
	if t.Finish != "" && t.Finish != FinishLength {
		add(".finish", "%q is neither empty nor %q", t.Finish, FinishLength)
	}
	claims := []struct {
		path string
		n    int
		text string
	}{
		{"reasoning", t.ReasoningTokens, t.Reasoning},
		{"text", t.TextTokens, t.Text},
	}
	for _, c := range claims {
		if c.n < 0 || c.n > maxClaim {
			add("."+c.path+"_tokens", "%d is not between 0 and %d", c.n, maxClaim)
		}
		if c.n > 0 && c.text == "" {
			add("."+c.path+"_tokens", "claims tokens of a part that is empty: set %s", c.path)
		}
	}
	for i, c := range t.Calls {
		if c.Name == "" {
			add(fmt.Sprintf(".call[%d].name", i), "is missing")
		}
		if _, err := c.arguments(); err != nil {
			add(fmt.Sprintf(".call[%d].arguments", i), "%v", err)
		}
	}
	return out
}

func (p Profile) withDefaults() Profile {
	if p.ContextPerSlot == 0 {
		p.ContextPerSlot = DefaultContextPerSlot
	}
	if p.Slots == 0 {
		p.Slots = DefaultSlots
	}
	if p.Pace == "" {
		p.Pace = Instant
	}
	return p
}
