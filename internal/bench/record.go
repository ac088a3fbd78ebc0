package bench

import "time"

// PlannedCell is a cell with everything that decides whether work done for it
// may be reused.
type PlannedCell struct {
	Cell
	Variant        Variant
	TaskDigest     string // Task.Digest of the rendered task
	FixtureVersion string
	FixtureDigest  string

	// Key names the cell by content: sha256 over arm (declared, without address),
	// rendered task, limits, scaffold, sampling, seed and repeat. Two plans with
	// an equal key share one cell.
	Key string
}

// CohortPlan is what a run writes down before its first attempt.
type CohortPlan struct {
	Study        string // name of the study: the file's stem
	StudyDigest  string // sha256 of the study file's bytes
	StudyText    []byte
	Assay        string // our version
	Scaffold     string // digest of prompt, tool schemas, rules and version
	ScaffoldText []byte // what the digest is over
	Order        string // "rounds", "blocked", "interleaved"
	Limits       Limits
	Arms         []Arm
	Cells        []PlannedCell // in the order in which they are run
}

// AttemptStart is the first row of an attempt.
type AttemptStart struct {
	Worker      string // host name; empty where it is not wanted
	Observed    Observed
	Environment Environment // of the agent's box
	Start       time.Time
}

// AttemptEnd is the last row of an attempt.
type AttemptEnd struct {
	Result           AgentResult
	Candidate        *Candidate // nil: nothing was exported
	ProtectedTouched []string   // protected files that differ from the task's
	End              time.Time
}

// CellState says how far a planned cell is.
type CellState struct {
	Cell      PlannedCell
	Counting  int64 // id of the attempt that counts; 0: none yet
	Tries     int   // attempts begun, also those that never ended
	Failed    int   // attempts that ended invalid for another reason than an interrupt
	Unended   int   // attempts without an end: the runner died in them, or runs them now
	Graded    bool  // the counting attempt has a grading without fault by the cell's fixture
	Candidate string
	Rejected  string // why the counting attempt's export was refused; empty: it was not
	Faults    int    // gradings of the counting attempt by the cell's fixture that failed on our side
}

// GradingRow is a grading as a report needs it.
type GradingRow struct {
	FixtureVersion string
	FixtureDigest  string
	Environment    Environment
	Passed, Total  int
	Complete       bool
	Functional     bool
	Flags          []Flag
	Fault          string
	Checks         []CheckResult // from the record: those that did not pass
	Elapsed        time.Duration
}

// AttemptRow is an attempt as a report needs it, with sums over its responses.
type AttemptRow struct {
	ID     int64
	Cell   Cell
	Ended  bool // false: the runner died in it
	Counts bool
	Stop   Stop
	Turns  int

	TaskSeconds  *float64 // seconds; nil: the attempt never ended
	Responses    int
	NativeRows   int     // responses whose native timing enters the pool
	OtherRows    int     // all other responses
	NativeTokens int64   // output tokens of the native rows, engine's count
	DecodeMS     float64 // decode milliseconds of the same rows, engine's timer
	DraftN       *int64
	DraftNAcc    *int64
	BadCalls     map[BadCall]int
	EngineIdle   []IdleGap

	Candidate        string
	Rejected         string
	ProtectedTouched []string
	Simulated        bool
	Grading          *GradingRow // the one that the report uses; nil: not graded
}

// Functional: every check of the fixture passed, whatever the stop reason.
func (a AttemptRow) Functional() bool {
	return a.Counts && a.Rejected == "" && a.Grading != nil && a.Grading.Functional
}

// Delivered: functional, handed over by the agent itself, inside every limit,
// protected files untouched.
func (a AttemptRow) Delivered() bool {
	return a.Functional() && a.Stop.Reason.HandedOver() && len(a.ProtectedTouched) == 0
}

// CohortView is one cohort as a report needs it.
type CohortView struct {
	ID       int64
	Study    string
	Created  time.Time
	Assay    string
	Scaffold string
	Order    string
	Limits   Limits
	Arms     []ArmView
	Cells    []PlannedCell
	Attempts []AttemptRow // all attempts at those cells, by id
}

// ArmView is an arm of a cohort with what was read back from its server.
type ArmView struct {
	Arm      Arm
	Observed *Observed // nil: never run
}

// EventKind names an event of a run.
type EventKind string

// The events of a run.
const (
	EventRunStarted     EventKind = "run_started"
	EventArmReady       EventKind = "arm_ready"
	EventArmFailed      EventKind = "arm_failed"
	EventAttemptStarted EventKind = "attempt_started"
	EventAttemptEnded   EventKind = "attempt_ended"
	EventGraded         EventKind = "graded"
	EventDraining       EventKind = "draining"
	EventRunEnded       EventKind = "run_ended"
)

// Event is something that a run did, for people, for --json and for the record.
type Event struct {
	Kind    EventKind
	Time    time.Time
	Cell    *Cell
	Attempt int64
	Done    int // cells complete
	Planned int
	Message string
	Row     *AttemptRow // attempt_ended, graded
}
