package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/bench"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func ptr[T any](v T) *T { return &v }

// row is a counting attempt with one native response pool and a grading of three
// checks, of which passed pass.
func row(id int64, arm string, seed, passed int, stop bench.StopReason, tokens int64, ms, task float64) bench.AttemptRow {
	checks := []bench.CheckResult{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	for i := range checks {
		checks[i].Status = bench.CheckFailed
		if i < passed {
			checks[i].Status = bench.CheckPassed
		}
	}
	return bench.AttemptRow{
		ID: id, Cell: bench.Cell{Arm: arm, Task: "ledger", Seed: seed, Repeat: 1}, Ended: true, Counts: true,
		Stop: bench.Stop{Reason: stop}, Turns: 4, TaskSeconds: &task, Responses: 4, NativeRows: 4, NativeTokens: tokens, DecodeMS: ms,
		Grading: &bench.GradingRow{FixtureVersion: "v0", Passed: passed, Total: 3, Complete: true, Functional: passed == 3, Checks: checks,
			Environment: bench.Environment{Kind: "bwrap"}},
	}
}

func view() bench.CohortView {
	v := bench.CohortView{
		ID: 1, Study: "night", Created: time.Date(2026, 12, 1, 20, 0, 0, 0, time.UTC), Assay: "v0.1.0",
		Scaffold: "0123456789abcdef", Order: "rounds",
		Arms: []bench.ArmView{
			{Arm: bench.Arm{Name: "q4"}, Observed: &bench.Observed{Kind: "llama.cpp", Build: "b10587", Model: "q", ContextPerSlot: ptr(int64(81920))}},
			{Arm: bench.Arm{Name: "iq3"}},
			{Arm: bench.Arm{Name: "iq2|x\x1b[2J"}},
			{Arm: bench.Arm{Name: "live"}},
			{Arm: bench.Arm{Name: "judge"}},
		},
	}
	for _, arm := range v.Arms {
		for seed := 1; seed <= 3; seed++ {
			v.Cells = append(v.Cells, bench.PlannedCell{
				Cell: bench.Cell{Arm: arm.Arm.Name, Task: "ledger", Seed: seed, Repeat: 1}, FixtureVersion: "v0", FixtureDigest: "d1"})
		}
	}
	q1 := row(1, "q4", 1, 3, bench.StopSubmitted, 1000, 20_000, 30)
	q2 := row(2, "q4", 2, 3, bench.StopTurnLimit, 2000, 30_000, 40)
	q2.OtherRows = 1
	q3 := row(3, "q4", 3, 2, bench.StopSubmitted, 500, 10_000, 20)
	q3.EngineIdle = []bench.IdleGap{{Elapsed: 3 * time.Millisecond, FileOnly: true}, {Elapsed: 900 * time.Millisecond}, {Elapsed: time.Millisecond, FileOnly: true}}
	i1 := row(4, "iq3", 1, 3, bench.StopSubmitted, 1000, 10_000, 15)
	lost := bench.AttemptRow{ID: 5, Cell: bench.Cell{Arm: "iq3", Task: "ledger", Seed: 2, Repeat: 1}, Ended: true,
		Stop: bench.Stop{Reason: bench.StopEngineLost, Message: "connection refused"}}
	died := bench.AttemptRow{ID: 6, Cell: bench.Cell{Arm: "iq3", Task: "ledger", Seed: 3, Repeat: 1}}
	retry := row(7, "iq3", 3, 3, bench.StopFinalMessage, 800, 8_000, 12)
	retry.ProtectedTouched = []string{"examples.txt"}
	stopped := bench.AttemptRow{ID: 9, Cell: bench.Cell{Arm: "live", Task: "ledger", Seed: 2, Repeat: 1}, Ended: true,
		Stop: bench.Stop{Reason: bench.StopInterrupted, Message: "stopped by the user"}}
	runs := bench.AttemptRow{ID: 10, Cell: bench.Cell{Arm: "live", Task: "ledger", Seed: 3, Repeat: 1}}
	unjudged := row(12, "judge", 2, 3, bench.StopSubmitted, 300, 5_000, 10)
	unjudged.Grading = &bench.GradingRow{Fault: "box lost twice"}
	waits := row(13, "judge", 3, 3, bench.StopSubmitted, 300, 5_000, 10)
	waits.Grading = nil
	v.Attempts = []bench.AttemptRow{q1, q2, q3, i1, lost, died, retry,
		row(8, "live", 1, 3, bench.StopSubmitted, 1000, 10_000, 15), stopped, runs,
		row(11, "judge", 1, 3, bench.StopSubmitted, 300, 5_000, 10), unjudged, waits}
	return v
}

func TestArmsAreSummedOverCountingAttempts(t *testing.T) {
	r := Build("v0.1.0", []bench.CohortView{view()})
	got := r.Cohorts[0].Arms
	// q4: 1000+2000+500 tokens over 20+30+10 s of decoding = 58.33 t/s; 90 s of tasks.
	q4 := got["q4"]
	want := Arm{
		Planned: 3, Complete: 3, Attempts: 3, Functional: 2, Delivered: 1, Scored: true,
		NativeOutputTokens: ptr(int64(3500)), DecodeSeconds: ptr(60.0), TaskSeconds: ptr(90.0),
		DecodeTPS: ptr(3500.0 / 60), TaskOutputTPS: ptr(3500.0 / 90), SecondsPerDelivered: ptr(90.0), DeliveredPerHour: ptr(40.0),
		Basis: "native", NativeResponses: 12, OtherResponses: 1, Stops: map[string]int{"submitted": 2, "turn_limit": 1}, BadCalls: map[string]int{},
		EngineIdle: &Idle{N: 2, P50MS: 1, P95MS: 3},
		Server:     Server{Kind: "llama.cpp", Build: "b10587", Model: "q", ContextPerSlot: ptr(int64(81920))},
		NA:         map[string]string{"draft_tokens": "no drafts on the wire: speculation off, or none drafted"},
	}
	if diff := cmp.Diff(want, q4); diff != "" {
		t.Errorf("q4 (-want +got):\n%s", diff)
	}
	// iq3: one cell lost its engine (1 of 3 tried: over a tenth), one runner died
	// and the cell was tried again; that retry touched a protected file.
	iq3 := got["iq3"]
	counts := [6]int{iq3.Planned, iq3.Complete, iq3.Invalid, iq3.NotRun, iq3.Functional, iq3.Delivered}
	if counts != [6]int{3, 2, 1, 0, 2, 1} || iq3.Scored {
		t.Errorf("iq3 planned, complete, invalid, not run, functional, delivered = %v, scored %v", counts, iq3.Scored)
	}
	none := got["iq2|x\x1b[2J"]
	if none.NotRun != 3 || none.DecodeTPS != nil || none.TaskSeconds != nil || none.NA["decode_tps"] == "" {
		t.Errorf("an arm that never ran: %+v", none)
	}
}

func TestPooledRateIsSumOverSumOfTheRows(t *testing.T) {
	r := Build("", []bench.CohortView{view()})
	for name, arm := range r.Cohorts[0].Arms {
		var tokens int64
		var seconds float64
		for _, a := range r.Cohorts[0].Attempts {
			if a.Arm == name && a.Counts && a.NativeOutputTokens != nil {
				tokens += *a.NativeOutputTokens
				seconds += *a.DecodeSeconds
			}
		}
		if tokens == 0 {
			if arm.DecodeTPS != nil {
				t.Errorf("%q: a rate without tokens", name)
			}
			continue
		}
		if want := float64(tokens) / seconds; math.Abs(*arm.DecodeTPS-want) > 1e-9 {
			t.Errorf("%q: decode_tps %v, rows give %v", name, *arm.DecodeTPS, want)
		}
	}
}

func TestUngradedAndGraderFault(t *testing.T) {
	v := view()
	v.Attempts[0].Grading = nil
	v.Attempts[1].Grading = &bench.GradingRow{Fault: "box lost twice"}
	a := Build("", []bench.CohortView{v}).Cohorts[0].Arms["q4"]
	if a.Ungraded != 1 || a.Invalid != 1 || a.Complete != 1 || a.Attempts != 3 {
		t.Errorf("ungraded %d, invalid %d, complete %d, attempts %d; want 1, 1, 1, 3", a.Ungraded, a.Invalid, a.Complete, a.Attempts)
	}
	if *a.TaskSeconds != 90 || *a.NativeOutputTokens != 3500 {
		t.Errorf("%v task seconds and %d tokens: not all attempts that count are in the sums", *a.TaskSeconds, *a.NativeOutputTokens)
	}
}

// A try that the end of a run cut off, or that still runs, says nothing about its
// arm: the cell is open, and the score of the others stands.
func TestOpenAndInvalidCells(t *testing.T) {
	ended := func(reason bench.StopReason) bench.AttemptRow {
		return bench.AttemptRow{Ended: true, Stop: bench.Stop{Reason: reason}}
	}
	running, cut, lost := bench.AttemptRow{}, ended(bench.StopInterrupted), ended(bench.StopEngineLost)
	good := row(0, "q4", 1, 3, bench.StopSubmitted, 1, 1, 1)
	faulty := good
	faulty.Grading = &bench.GradingRow{Fault: "box lost"}
	waits := good
	waits.Grading = nil
	type counts struct{ Complete, Invalid, NotRun, Open, Ungraded int }
	for _, tt := range []struct {
		name  string
		tries []bench.AttemptRow
		want  counts
		mark  string
	}{
		{"never tried", nil, counts{NotRun: 1}, "."},
		{"runs", []bench.AttemptRow{running}, counts{Open: 1}, "?"},
		{"interrupted", []bench.AttemptRow{cut}, counts{Open: 1}, "?"},
		{"cut off again and again", []bench.AttemptRow{running, cut, running, cut}, counts{Open: 1}, "?"},
		{"failed, and runs again", []bench.AttemptRow{lost, running}, counts{Open: 1}, "?"},
		{"failed, and was interrupted then", []bench.AttemptRow{lost, cut}, counts{Open: 1}, "?"},
		{"failed", []bench.AttemptRow{lost}, counts{Invalid: 1}, "!"},
		{"died, and failed then", []bench.AttemptRow{running, cut, lost}, counts{Invalid: 1}, "!"},
		{"failed, then good", []bench.AttemptRow{lost, running, good}, counts{Complete: 1}, "D"},
		{"good beside one that never ended", []bench.AttemptRow{good, running}, counts{Complete: 1}, "D"},
		{"not graded yet", []bench.AttemptRow{lost, waits}, counts{Ungraded: 1}, "?"},
		{"grading failed", []bench.AttemptRow{faulty}, counts{Invalid: 1}, "!"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := view()
			for i := range v.Attempts { // q4 has three complete cells; the first one is tried as the case says
				if v.Attempts[i].Cell.Arm == "q4" && v.Attempts[i].Cell.Seed == 1 {
					v.Attempts = slices.Delete(v.Attempts, i, i+1)
					break
				}
			}
			for i, a := range tt.tries {
				a.ID, a.Cell = int64(100+i), bench.Cell{Arm: "q4", Task: "ledger", Seed: 1, Repeat: 1}
				v.Attempts = append(v.Attempts, a)
			}
			c := Build("", []bench.CohortView{v}).Cohorts[0]
			a := c.Arms["q4"]
			tt.want.Complete += 2
			if diff := cmp.Diff(tt.want, counts{a.Complete, a.Invalid, a.NotRun, a.Open, a.Ungraded}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if a.Scored != (tt.want.Invalid == 0) {
				t.Errorf("scored %v with %d invalid cells of 3", a.Scored, a.Invalid)
			}
			var b bytes.Buffer
			if err := (Report{Cohorts: []Cohort{c}}).WriteText(&b); err != nil {
				t.Fatal(err)
			}
			if line := lineOf(t, b.String(), "q4", 2); strings.Fields(line)[1] != tt.mark {
				t.Errorf("the cell is shown as %q, want the mark %s", line, tt.mark)
			}
		})
	}
}

// lineOf is the nth line, from 0, that starts with a word.
func lineOf(t *testing.T, text, word string, nth int) string {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, word+" ") {
			if nth--; nth < 0 {
				return line
			}
		}
	}
	t.Fatalf("too few lines start with %q:\n%s", word, text)
	return ""
}

func TestFiguresPerDeliveredAreOverCompleteCells(t *testing.T) {
	arm := func(change func(v *bench.CohortView)) Arm {
		v := view()
		change(&v)
		return Build("", []bench.CohortView{v}).Cohorts[0].Arms["q4"]
	}
	// q4's second cell, 40 s, waits for its verdict: 30 + 20 s for one delivered.
	a := arm(func(v *bench.CohortView) { v.Attempts[1].Grading = nil })
	if *a.SecondsPerDelivered != 50 || *a.DeliveredPerHour != 72 || *a.TaskSeconds != 90 {
		t.Errorf("%v s per delivered, %v an hour, %v task seconds; want 50, 72, 90", *a.SecondsPerDelivered, *a.DeliveredPerHour, *a.TaskSeconds)
	}
	for _, tt := range []struct {
		name      string
		change    func(v *bench.CohortView)
		per, rate string // reasons; empty: known
	}{
		{"one of three invalid", func(v *bench.CohortView) { v.Attempts[1].Grading.Fault = "lost" },
			"more than 10 % of the tried cells are invalid", "more than 10 % of the tried cells are invalid"},
		{"nothing graded", func(v *bench.CohortView) {
			for i := range v.Attempts {
				v.Attempts[i].Grading = nil
			}
		}, "no complete cell", "no complete cell"},
		{"nothing run", func(v *bench.CohortView) { v.Attempts = nil }, "no attempt that counts", "no attempt that counts"},
		{"nothing delivered", func(v *bench.CohortView) { v.Attempts[0].Grading.Functional = false }, "nothing delivered", ""},
		{"no clock", func(v *bench.CohortView) { v.Attempts[0].TaskSeconds = nil },
			"an attempt without task seconds", "an attempt without task seconds"},
		{"no time", func(v *bench.CohortView) {
			for i := range v.Attempts {
				v.Attempts[i].TaskSeconds = ptr(0.0)
			}
		}, "", "the task seconds are 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := arm(tt.change)
			if got := a.NA["task_seconds_per_delivered"]; got != tt.per || (a.SecondsPerDelivered == nil) != (got != "") {
				t.Errorf("per delivered: %v, reason %q, want %q", a.SecondsPerDelivered, got, tt.per)
			}
			if got := a.NA["delivered_per_hour"]; got != tt.rate || (a.DeliveredPerHour == nil) != (got != "") {
				t.Errorf("per hour: %v, reason %q, want %q", a.DeliveredPerHour, got, tt.rate)
			}
		})
	}
}

func TestOurGradingFaultIsShown(t *testing.T) {
	v := view()
	v.Attempts[0].Grading = &bench.GradingRow{Fault: "the judge's box was lost\x1b[2J", Total: 3, Passed: 3, Functional: true}
	r := Build("", []bench.CohortView{v})
	a := r.Cohorts[0].Attempts[0]
	if a.GradingFault != v.Attempts[0].Grading.Fault || a.Functional != nil || a.Delivered != nil || a.ChecksTotal != nil {
		t.Errorf("a grading that failed on our side gave a verdict, or was not shown: %+v", a)
	}
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := `q4 ledger seed 1: submitted, not graded, our side failed: the judge's box was lost\x1b[2J`
	if got := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(got, want) {
		t.Errorf("the fault is not among the failures:\n%s", b.String())
	}
}

// An arm of which too few cells are known gets no warning of invalid cells that
// it does not have.
func TestNoScoreIsBlamedOnInvalidCellsOnlyWhereTheyAreMany(t *testing.T) {
	v := view()
	for i := range v.Attempts {
		v.Attempts[i].Grading = nil
	}
	for _, w := range Build("", []bench.CohortView{v}).Cohorts[0].Warnings {
		if strings.HasPrefix(w, "arm q4") && strings.Contains(w, "invalid") {
			t.Error(w)
		}
	}
}

func TestGolden(t *testing.T) {
	simulated := view()
	for i := range simulated.Attempts {
		simulated.Attempts[i].Simulated = true
	}
	tests := []struct {
		name  string
		views []bench.CohortView
		write func(Report, *bytes.Buffer) error
	}{
		{"report.txt", []bench.CohortView{view()}, func(r Report, b *bytes.Buffer) error { return r.WriteText(b) }},
		{"simulated.txt", []bench.CohortView{simulated}, func(r Report, b *bytes.Buffer) error { return r.WriteText(b) }},
		{"empty.txt", nil, func(r Report, b *bytes.Buffer) error { return r.WriteText(b) }},
		{"report.json", []bench.CohortView{view()}, func(r Report, b *bytes.Buffer) error { return r.WriteJSON(b) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := tt.write(Build("v0.1.0", tt.views), &b); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", tt.name)
			if *update {
				if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if strings.HasSuffix(tt.name, ".json") {
				var back Report
				if err := json.Unmarshal(b.Bytes(), &back); err != nil {
					t.Errorf("the JSON does not read back: %v", err)
				}
			}
		})
	}
}

func TestTextIsSafeAndNarrow(t *testing.T) {
	v := view()
	v.Study = "студия \u202e evil \x07"
	v.Attempts[4].Stop.Message = strings.Repeat("long words in a row ", 20) + "\x1b]0;title\x07"
	var b bytes.Buffer
	if err := Build("", []bench.CohortView{v}).WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(b.String(), "\n") {
		if n := len([]rune(line)); n > width {
			t.Errorf("%d columns: %q", n, line)
		}
		for _, r := range line {
			if r < ' ' || r == '\u202e' || r == 0x7f {
				t.Errorf("unsafe character %U in %q", r, line)
			}
		}
	}
}
