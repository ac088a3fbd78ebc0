package results

import (
	"math"
	"testing"
	"time"

	"assay/internal/bench"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestCohortView(t *testing.T) {
	path := dbPath(t)
	s := openStore(t, path)
	p := plan(3)
	cohort := cohortOf(t, s, p)
	ctx := t.Context()

	lost := begin(t, s, cohort, p.Cells[0])
	must(t, s.EndAttempt(ctx, lost, attemptEnd(bench.StopEngineLost, nil)))
	died := begin(t, s, cohort, p.Cells[0])
	must(t, s.AddResponse(ctx, died, 1, fullResponse(), nil))
	good := begin(t, s, cohort, p.Cells[0])
	second := fullResponse()
	second.Timings = timings(7, 50)
	second.Timings.DraftN, second.Timings.DraftNAccepted = nil, nil
	short := fullResponse()
	short.Timings = timings(1, 10)
	for _, r := range []bench.Response{fullResponse(), second, short, {}} {
		must(t, s.AddResponse(ctx, good, 1, r, nil))
	}
	c := candidate(t, "x")
	must(t, s.EndAttempt(ctx, good, attemptEnd(bench.StopSubmitted, c)))
	for _, g := range []bench.Grading{
		grading(c.ID, "fixture-digest", "judge lost"),
		grading(c.ID, "fixture-digest", "", bench.CheckFailed, bench.CheckPassed),
		grading(c.ID, "fixture-digest", "", bench.CheckPassed, bench.CheckPassed),
		grading(c.ID, "corrected", "", bench.CheckFailed),
		grading(c.ID, "fixture-digest", "judge lost again"),
	} {
		must(t, s.AddGrading(ctx, good, g))
	}

	views, err := openReader(t, path).Cohorts(ctx)
	must(t, err)
	end := attemptEnd(bench.StopSubmitted, nil)
	ended := bench.AttemptRow{
		ID: lost, Cell: p.Cells[0].Cell, Ended: true, Stop: bench.Stop{Reason: bench.StopEngineLost, Message: "what happened", Limit: "max_turns", Value: "3", Reached: "4"},
		Turns: 4, TaskSeconds: ptr(90.0), BadCalls: end.Result.BadCalls, EngineIdle: end.Result.EngineIdle,
		ProtectedTouched: []string{"data.csv"}, Simulated: true,
	}
	counting := ended
	counting.ID, counting.Counts, counting.Stop.Reason, counting.Candidate = good, true, bench.StopSubmitted, c.ID
	counting.Responses, counting.NativeRows, counting.OtherRows = 4, 2, 2
	counting.NativeTokens, counting.DecodeMS = 12, 150
	counting.DraftN, counting.DraftNAcc = ptr(int64(8)), ptr(int64(6))
	counting.Grading = &bench.GradingRow{
		FixtureVersion: "v0", FixtureDigest: "fixture-digest", Environment: environment(), Passed: 2, Total: 2, Complete: true,
		Functional: true, Flags: []bench.Flag{bench.FlagTimeout}, Elapsed: 700 * time.Millisecond,
	}
	open := bench.AttemptRow{
		ID: died, Cell: p.Cells[0].Cell, Responses: 1, NativeRows: 1,
		NativeTokens: 5, DecodeMS: 100, DraftN: ptr(int64(4)), DraftNAcc: ptr(int64(3)), Simulated: true,
	}
	observed := attemptStart().Observed
	want := []bench.CohortView{{
		ID: cohort, Study: "demo", Created: clock(), Assay: "v0.1.0", Scaffold: "scaffold-digest", Order: "rounds", Limits: p.Limits,
		Arms:  []bench.ArmView{{Arm: p.Arms[0], Observed: &observed}, {Arm: p.Arms[1]}},
		Cells: p.Cells, Attempts: []bench.AttemptRow{ended, open, counting},
	}}
	if diff := cmp.Diff(want, views, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	states, err := s.CellStates(ctx, cohort)
	must(t, err)
	state := bench.CellState{Cell: p.Cells[0], Counting: good, Tries: 3, Failed: 1, Unended: 1, Graded: true, Candidate: c.ID, Faults: 2}
	if diff := cmp.Diff(state, states[0]); diff != "" {
		t.Error(diff)
	}
}

func TestGradingChosen(t *testing.T) {
	for _, tt := range []struct {
		name     string
		fixtures []string // fixture digest of each grading, "!" in front of a fault
		want     int      // place of the grading that the report uses; -1: none
	}{
		{"latest of the planned fixture", []string{"fixture-digest", "fixture-digest", "corrected"}, 1},
		{"fault after a verdict", []string{"fixture-digest", "!fixture-digest"}, 0},
		{"only other fixtures", []string{"old", "!corrected"}, -1},
		{"fault, and a verdict of another fixture", []string{"!fixture-digest", "corrected"}, 0},
		{"only faults", []string{"!fixture-digest", "!fixture-digest"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := dbPath(t)
			s := openStore(t, path)
			p := plan(1)
			cohort := cohortOf(t, s, p)
			a := begin(t, s, cohort, p.Cells[0])
			must(t, s.EndAttempt(t.Context(), a, attemptEnd(bench.StopSubmitted, nil)))
			for i, f := range tt.fixtures {
				g := bench.Grading{Task: "ledger", Complete: true, Elapsed: time.Duration(i), FixtureDigest: f}
				if f[0] == '!' {
					g.FixtureDigest, g.Fault = f[1:], "lost"
				}
				must(t, s.AddGrading(t.Context(), a, g))
			}
			views, err := openReader(t, path).Cohorts(t.Context())
			must(t, err)
			got := -1
			if g := views[0].Attempts[0].Grading; g != nil {
				got = int(g.Elapsed)
			}
			if got != tt.want {
				t.Errorf("grading %d, want %d", got, tt.want)
			}
		})
	}
}

// The pool of native decode figures is decided twice, in Go and in SQL.
func TestNativeRuleIsThatOfBench(t *testing.T) {
	path := dbPath(t)
	s := openStore(t, path)
	p := plan(2)
	cohort := cohortOf(t, s, p)
	a := begin(t, s, cohort, p.Cells[0])
	want := bench.AttemptRow{}
	counts := []*int64{nil, ptr(int64(-1)), ptr(int64(0)), ptr(int64(1)), ptr(int64(2)), ptr(int64(900))}
	times := []*float64{nil, ptr(-1.0), ptr(0.0), ptr(math.SmallestNonzeroFloat64), ptr(0.5), ptr(12345.5), ptr(math.NaN())}
	for _, n := range counts {
		for _, ms := range times {
			for _, timed := range []bool{true, false} {
				r := bench.Response{Usage: bench.Usage{CompletionTokens: ptr(int64(500))}}
				if timed {
					r.Timings = &bench.Timings{PredictedN: n, PredictedMS: ms}
				}
				must(t, s.AddResponse(t.Context(), a, 1, r, nil))
				want.Responses++
				if r.NativeDecode() {
					want.NativeRows++
					want.NativeTokens += *n
					want.DecodeMS += *ms
				} else {
					want.OtherRows++
				}
			}
		}
	}
	views, err := openReader(t, path).Cohorts(t.Context())
	must(t, err)
	got := views[0].Attempts[0]
	got = bench.AttemptRow{Responses: got.Responses, NativeRows: got.NativeRows, OtherRows: got.OtherRows, NativeTokens: got.NativeTokens, DecodeMS: got.DecodeMS}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Error(diff)
	}
	if want.NativeRows == 0 || want.OtherRows == 0 {
		t.Error("one side of the rule was never tried")
	}
}

func TestAbsurdCountsDoNotFailTheReport(t *testing.T) {
	path := dbPath(t)
	s := openStore(t, path)
	p := plan(1)
	a := begin(t, s, cohortOf(t, s, p), p.Cells[0])
	for range 3 {
		must(t, s.AddResponse(t.Context(), a, 1, bench.Response{Timings: &bench.Timings{
			PredictedN: ptr(int64(math.MaxInt64)), PredictedMS: ptr(1.0), DraftN: ptr(int64(math.MaxInt64)),
		}}, nil))
	}
	views, err := openReader(t, path).Cohorts(t.Context())
	must(t, err)
	if got := views[0].Attempts[0]; got.NativeTokens != math.MaxInt64 || *got.DraftN != math.MaxInt64 {
		t.Errorf("tokens %d, drafted %d", got.NativeTokens, *got.DraftN)
	}
}

func TestDigest(t *testing.T) {
	path := filled(t)
	r := openReader(t, path)
	before, err := r.Digest(t.Context())
	must(t, err)
	s := openStore(t, path)
	views, err := r.Cohorts(t.Context())
	must(t, err)
	a := views[0].Attempts[0]
	must(t, s.AddGrading(t.Context(), a.ID, grading(a.Candidate, "corrected", "", bench.CheckFailed)))
	must(t, s.AddEvent(t.Context(), 0, bench.Event{Kind: bench.EventRunEnded}))
	regraded, err := r.Digest(t.Context())
	must(t, err)
	if regraded != before {
		t.Error("a regrade changed the digest")
	}
	begin(t, s, views[0].ID, views[0].Cells[1])
	more, err := r.Digest(t.Context())
	must(t, err)
	if more == before {
		t.Error("a new attempt did not change the digest")
	}
	// Somebody who drops the triggers can change rows; the digest tells.
	seen := map[string]bool{before: true, more: true}
	db := foreign(t, path)
	for _, table := range tables(t, path) {
		if _, err := db.Exec("DROP TRIGGER " + table + "_no_update"); err != nil {
			t.Fatal(err)
		}
	}
	const swap = "UPDATE arms SET name = name || ' of old'; UPDATE arms SET name = iif(position = 0, 'q8', 'q4')"
	for _, change := range []string{
		swap, "UPDATE arms SET declared = json_set(declared, '$.model', 'x')",
		"UPDATE cohort_cells SET arm = iif(arm = 'q4', 'q8', 'q4')", "UPDATE cohort_cells SET fixture_digest = 'x'",
		"UPDATE cells SET seed = seed + 1", "UPDATE cohorts SET scaffold = 'x'", "UPDATE cohorts SET study_text = scaffold_text",
		"UPDATE attempt_ends SET task_ns = task_ns + 1", "UPDATE response_timings SET predicted_n = NULL",
		"UPDATE steps SET answer = arguments", "UPDATE responses SET raw = NULL", "UPDATE candidate_files SET exec = 1 - exec",
	} {
		if _, err := db.Exec(change); err != nil {
			t.Fatal(err)
		}
		got, err := r.Digest(t.Context())
		must(t, err)
		if seen[got] {
			t.Errorf("not noticed: %s", change)
		}
		seen[got] = true
	}
	if _, err := OpenReader(t.Context(), path); err == nil {
		t.Error("a database without its triggers was opened")
	}
}

// Whether a grading is functional is decided twice, in Go over the checks and in
// the view over their counts; the checks that did not pass are listed.
func TestFunctionalRuleIsThatOfBench(t *testing.T) {
	path := dbPath(t)
	s := openStore(t, path)
	const passed, failed, notRun = bench.CheckPassed, bench.CheckFailed, bench.CheckNotRun
	cases := [][]bench.CheckStatus{nil, {passed}, {passed, passed}, {passed, failed}, {notRun, passed, failed}, {failed}}
	var gradings []bench.Grading
	for _, statuses := range cases {
		for _, fault := range []string{"", "lost"} {
			for _, complete := range []bool{true, false} {
				g := grading("", "fixture-digest", fault, statuses...)
				g.Complete = complete
				gradings = append(gradings, g)
			}
		}
	}
	p := plan(len(gradings))
	cohort := cohortOf(t, s, p)
	for i, g := range gradings {
		a := begin(t, s, cohort, p.Cells[i])
		must(t, s.EndAttempt(t.Context(), a, attemptEnd(bench.StopSubmitted, nil)))
		must(t, s.AddGrading(t.Context(), a, g))
	}
	views, err := openReader(t, path).Cohorts(t.Context())
	must(t, err)
	for i, g := range gradings {
		want := bench.GradingRow{Passed: g.Passed(), Total: len(g.Checks), Functional: g.Functional()}
		for _, c := range g.Checks {
			if c.Status != passed {
				want.Checks = append(want.Checks, c)
			}
		}
		row := views[0].Attempts[i].Grading
		got := bench.GradingRow{Passed: row.Passed, Total: row.Total, Functional: row.Functional, Checks: row.Checks}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v:\n%s", g.Checks, diff)
		}
	}
}
