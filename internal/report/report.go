// Package report turns cohorts into one Report value and prints it. Every figure
// is computed here from rows, none is read from the database; docs/metrics.md
// has the definitions.
package report

import (
	"time"

	"assay/internal/bench"
)

// Schema is the number of the JSON layout. It rises when a field changes its
// meaning or goes.
const Schema = 1

// Report is everything that a report says.
type Report struct {
	Schema    int      `json:"schema"`
	Assay     string   `json:"assay"`               // version that made the report
	Simulated bool     `json:"simulated,omitempty"` // some figures come from the scripted engine
	Cohorts   []Cohort `json:"cohorts"`
}

// Cohort is one cohort with a figure for each arm.
type Cohort struct {
	ID        int64          `json:"id"`
	Study     string         `json:"study"`
	Created   time.Time      `json:"created"`
	Assay     string         `json:"assay"` // version that ran it
	Scaffold  string         `json:"scaffold"`
	Order     string         `json:"order"`
	Simulated bool           `json:"simulated,omitempty"`
	Fixtures  []Fixture      `json:"fixtures"`
	ArmOrder  []string       `json:"arm_order"` // as in the study; the first is the baseline
	Arms      map[string]Arm `json:"arms"`
	Attempts  []Attempt      `json:"attempts"`
	Warnings  []string       `json:"warnings"`

	planned []bench.Cell
}

// Fixture is a fixture version that judged the cohort's work.
type Fixture struct {
	Task    string `json:"task"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
}

// Arm holds the counts and figures of one arm. A nil figure is unknown; NA says
// why.
type Arm struct {
	Planned    int `json:"planned"`
	Complete   int `json:"complete"` // cells with a counting, graded attempt
	Attempts   int `json:"attempts"` // attempts that count; the basis of all sums below
	Invalid    int `json:"invalid"`  // cells whose newest try, or whose grading, failed on our side
	NotRun     int `json:"not_run"`
	Open       int `json:"open"`     // cells whose newest try has not ended or was interrupted: they are tried again
	Ungraded   int `json:"ungraded"` // cells whose attempt counts and waits for its grading
	Functional int `json:"functional"`
	Delivered  int `json:"delivered"`
	// Scored is false where more than a tenth of the cells that were tried are
	// invalid: then the counts stand and no score is to be made of them.
	Scored bool `json:"scored"`

	NativeOutputTokens  *int64   `json:"native_output_tokens"`       // engine's count, over the native responses
	DecodeSeconds       *float64 `json:"decode_seconds"`             // engine's timer, seconds, over the same responses
	TaskSeconds         *float64 `json:"task_seconds"`               // our clock, seconds, over the counting attempts
	DecodeTPS           *float64 `json:"decode_tps"`                 // native_output_tokens / decode_seconds
	TaskOutputTPS       *float64 `json:"task_output_tps"`            // native_output_tokens / task_seconds
	SecondsPerDelivered *float64 `json:"task_seconds_per_delivered"` // over the complete cells, as the next
	DeliveredPerHour    *float64 `json:"delivered_per_hour"`
	Basis               string   `json:"decode_basis"` // "native"; "n/a" where no response had native timing
	NativeResponses     int      `json:"native_responses"`
	OtherResponses      int      `json:"other_responses"` // counted beside: no native timing or under two tokens
	Drafted             *int64   `json:"draft_tokens"`
	DraftAccepted       *int64   `json:"draft_tokens_accepted"`

	Stops      map[string]int `json:"stops"`     // stop reasons of all attempts; "never_ended": no end was recorded
	BadCalls   map[string]int `json:"bad_calls"` // of the counting attempts, by kind
	EngineIdle *Idle          `json:"engine_idle,omitempty"`

	Server Server            `json:"server"`
	NA     map[string]string `json:"na,omitempty"` // figure -> why it is unknown
}

// Idle is the time that an engine waited between two requests of an attempt with
// file tools only in between, by our clock.
type Idle struct {
	N     int     `json:"n"`
	P50MS float64 `json:"p50_ms"`
	P95MS float64 `json:"p95_ms"`
}

// Server is what an arm's server said of itself.
type Server struct {
	Kind           string `json:"kind,omitempty"`
	Build          string `json:"build,omitempty"`
	Model          string `json:"model,omitempty"`
	ContextPerSlot *int64 `json:"context_per_slot"`
	Slots          *int64 `json:"slots"`
	Simulated      bool   `json:"simulated,omitempty"`
}

// Attempt is one row behind the sums.
type Attempt struct {
	ID                 int64    `json:"id"`
	Arm                string   `json:"arm"`
	Task               string   `json:"task"`
	Seed               int      `json:"seed"`
	Repeat             int      `json:"repeat"`
	Counts             bool     `json:"counts"`
	Stop               string   `json:"stop"` // stop reason; "": no end was recorded
	StopMessage        string   `json:"stop_message,omitempty"`
	Functional         *bool    `json:"functional"`
	Delivered          *bool    `json:"delivered"`
	ChecksPassed       *int     `json:"checks_passed"`
	ChecksTotal        *int     `json:"checks_total"`
	FailedChecks       []string `json:"failed_checks,omitempty"`
	Flags              []string `json:"flags,omitempty"`
	GradingFault       string   `json:"grading_fault,omitempty"` // our side failed while grading a counting attempt: what happened
	FixtureVersion     string   `json:"fixture_version,omitempty"`
	Sandbox            string   `json:"sandbox,omitempty"`
	Candidate          string   `json:"candidate,omitempty"`
	Turns              int      `json:"turns"`
	NativeOutputTokens *int64   `json:"native_output_tokens"`
	DecodeSeconds      *float64 `json:"decode_seconds"`
	TaskSeconds        *float64 `json:"task_seconds"`
	Simulated          bool     `json:"simulated,omitempty"`
}

// Build computes the report over the cohorts in their order.
func Build(assay string, views []bench.CohortView) Report {
	r := Report{Schema: Schema, Assay: assay, Cohorts: []Cohort{}}
	for _, v := range views {
		c := buildCohort(v)
		r.Simulated = r.Simulated || c.Simulated
		r.Cohorts = append(r.Cohorts, c)
	}
	return r
}
