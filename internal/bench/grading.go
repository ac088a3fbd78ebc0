package bench

import "time"

// CheckStatus is the verdict of one check.
type CheckStatus string

// The verdicts of a check. not_run: the judge ended before it; it is not passed.
const (
	CheckPassed CheckStatus = "passed"
	CheckFailed CheckStatus = "failed"
	CheckNotRun CheckStatus = "not_run"
)

// Flag marks something about a grading that a reader must see.
type Flag string

// The flags of a grading or check.
const (
	FlagBoxLostByCandidate Flag = "box_lost_by_candidate"
	FlagJudgeError         Flag = "judge_error"
	FlagProtocolViolation  Flag = "protocol_violation" // a candidate process broke the frame protocol
	FlagExportRejected     Flag = "export_rejected"
	FlagTimeout            Flag = "timeout"
	FlagProtectedModified  Flag = "protected_path_modified"
)

// CheckResult is the verdict of one check with its evidence.
type CheckResult struct {
	ID      string
	Status  CheckStatus
	Message string // expected, got and the step, for people; bounded
	Flags   []Flag
	Elapsed time.Duration
}

// JudgeFrame is one frame that crossed the relay, kept for a later re-read.
type JudgeFrame struct {
	Seq   int
	From  string // "judge", "candidate", "host"
	Bytes []byte
}

// Grading is one candidate judged by one fixture version in one environment.
type Grading struct {
	Candidate      string
	Task           string
	FixtureVersion string
	FixtureDigest  string
	Environment    Environment // of the candidate box
	Judge          Environment
	Limits         FixtureLimits
	Checks         []CheckResult // every frozen id once, in the fixture's order
	Complete       bool          // ids equal the frozen set and the end frame came
	Flags          []Flag
	Fault          string // our side failed: what happened; empty: none
	Frames         []JudgeFrame
	Secret         []byte // per-grading secret that unguessable values derive from
	Started        time.Time
	Elapsed        time.Duration
}

// Passed counts the checks that passed.
func (g Grading) Passed() int {
	n := 0
	for _, c := range g.Checks {
		if c.Status == CheckPassed {
			n++
		}
	}
	return n
}

// Functional: every check of the fixture passed. Zero checks is never a pass.
func (g Grading) Functional() bool {
	return g.Fault == "" && g.Complete && len(g.Checks) > 0 && g.Passed() == len(g.Checks)
}
