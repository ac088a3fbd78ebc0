package bench

// Task is a task rendered for one variant: what the model is asked.
type Task struct {
	Name        string
	Variant     Variant
	Seed        int    // 0 for the fixed variant
	Instruction string // exact prompt text
	Workspace   Tree   // starting files of the box
	Reference   Tree   // files of the reference solution, laid over Workspace
	Protected   []string
	Difficulty  string // shortest first in a plan: "smoke", "short", "long"
	Digest      string // of everything the model sees: instruction and workspace
	Entry       string // file that a candidate must have, for messages only
}

// CheckSpec is one frozen acceptance test.
type CheckSpec struct {
	ID       string
	Sentence string // what it demands, plainly
	Clause   string // the numbered clause of the instruction
}

// Control is a candidate that proves a fixture: a wrong one with the checks that
// it must fail, or an accepted one with none.
type Control struct {
	Name  string
	Tree  Tree     // the whole candidate
	Fails []string // ids of the checks it must fail, exactly; empty: must pass
	Why   string
}

// Fixture is how the answers to one rendered task are judged.
type Fixture struct {
	Task       string
	Version    string // "v0", "v1.0.0"
	Released   bool
	Digest     string // of acceptance, checks, kit and limits
	Parent     string // version that it corrects; empty: none
	Reason     string // "wrong-test", "too-strict", "too-loose", "flaky", "environment"
	Checks     []CheckSpec
	Acceptance []byte // source of acceptance.py
	Limits     FixtureLimits
	Controls   []Control
	Accepted   []Control
}

// FixtureLimits bound every check of a fixture.
type FixtureLimits struct {
	Process      ProcessLimits // of one candidate process
	JudgeSeconds float64       // of the whole grading, judge's own deadline
}
