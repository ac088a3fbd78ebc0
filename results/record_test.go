package results

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"assay/internal/bench"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestEnsureCohort(t *testing.T) {
	s := openStore(t, dbPath(t))
	first := cohortOf(t, s, plan(4))
	change := func(f func(*bench.CohortPlan)) bench.CohortPlan {
		p := plan(4)
		f(&p)
		return p
	}
	for _, tt := range []struct {
		name string
		plan bench.CohortPlan
		same bool
	}{
		{"same", plan(4), true},
		{"other version of assay", change(func(p *bench.CohortPlan) { p.Assay = "v9" }), true},
		{"other order of cells", change(func(p *bench.CohortPlan) { p.Cells[0], p.Cells[3] = p.Cells[3], p.Cells[0] }), true},
		{"more cells", plan(5), false},
		{"other study", change(func(p *bench.CohortPlan) { p.Study = "x" }), false},
		{"other order", change(func(p *bench.CohortPlan) { p.Order = "blocked" }), false},
		{"same study, other text", change(func(p *bench.CohortPlan) { p.StudyDigest, p.StudyText = "x", []byte("# moved") }), true},
		{"other scaffold", change(func(p *bench.CohortPlan) { p.Scaffold = "x" }), false},
		{"other fixture", change(func(p *bench.CohortPlan) { p.Cells[1].FixtureDigest = "x" }), false},
		{"no text", change(func(p *bench.CohortPlan) { p.Study, p.StudyText, p.ScaffoldText = "y", nil, nil }), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := cohortOf(t, s, tt.plan); (got == first) != tt.same {
				t.Errorf("cohort %d after %d", got, first)
			}
		})
	}
	for name, p := range map[string]bench.CohortPlan{
		"no key":        change(func(p *bench.CohortPlan) { p.Cells[0].Key = "" }),
		"key twice":     change(func(p *bench.CohortPlan) { p.Cells[0].Key = p.Cells[1].Key }),
		"no such arm":   change(func(p *bench.CohortPlan) { p.Cells[0].Arm = "x" }),
		"arm twice":     change(func(p *bench.CohortPlan) { p.Arms[1].Name = "q4" }),
		"key of others": change(func(p *bench.CohortPlan) { p.Cells[0].TaskDigest = "x"; p.Study, p.StudyDigest = "z", "z" }),
	} {
		t.Run(name, func(t *testing.T) {
			if id, err := s.EnsureCohort(t.Context(), p); err == nil {
				t.Errorf("accepted as cohort %d", id)
			}
		})
	}
}

func TestCellsAreSharedByKey(t *testing.T) {
	path := dbPath(t)
	s := openStore(t, path)
	p := plan(2)
	old := cohortOf(t, s, p)
	a := begin(t, s, old, p.Cells[0])
	c := candidate(t, "x")
	must(t, s.EndAttempt(t.Context(), a, attemptEnd(bench.StopSubmitted, c)))
	must(t, s.AddGrading(t.Context(), a, grading(c.ID, "fixture-digest", "", bench.CheckPassed)))

	wider := plan(4)
	wider.Study = "wider"
	wider.Cells[0].FixtureDigest = "corrected"
	cohort := cohortOf(t, s, wider)
	got, err := s.CellStates(t.Context(), cohort)
	must(t, err)
	want := []bench.CellState{
		{Cell: wider.Cells[0], Counting: a, Tries: 1, Candidate: c.ID}, // not graded by the corrected fixture
		{Cell: wider.Cells[1]}, {Cell: wider.Cells[2]}, {Cell: wider.Cells[3]},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	views, err := openReader(t, path).Cohorts(t.Context())
	must(t, err)
	if len(views) != 2 || len(views[0].Attempts) != 1 || len(views[1].Attempts) != 1 || views[1].Attempts[0].ID != a {
		t.Errorf("%+v", views)
	}
}

func TestAttemptRules(t *testing.T) {
	s := openStore(t, dbPath(t))
	p := plan(2)
	cohort := cohortOf(t, s, p)
	ctx := t.Context()
	a, b := begin(t, s, cohort, p.Cells[0]), begin(t, s, cohort, p.Cells[0])
	must(t, s.EndAttempt(ctx, a, attemptEnd(bench.StopSubmitted, nil)))
	unplanned := p.Cells[1]
	unplanned.Key = "x"
	_, notPlanned := s.BeginAttempt(ctx, cohort, unplanned, attemptStart())
	_, counted := s.BeginAttempt(ctx, cohort, p.Cells[0], attemptStart())
	_, noCohort := s.CellStates(ctx, 99)
	_, noCandidate := s.Candidate(ctx, "x")
	for _, tt := range []struct {
		name string
		err  error
		want error
	}{
		{"second counting end", s.EndAttempt(ctx, b, attemptEnd(bench.StopTurnLimit, candidate(t, "y"))), ErrCounted},
		{"begin at a counted cell", counted, ErrCounted},
		{"second end", s.EndAttempt(ctx, a, attemptEnd(bench.StopInterrupted, nil)), ErrEnded},
		{"end of nothing", s.EndAttempt(ctx, 99, attemptEnd(bench.StopInterrupted, nil)), ErrUnknownAttempt},
		{"response after the end", s.AddResponse(ctx, a, 1, fullResponse(), nil), ErrEnded},
		{"step after the end", s.AddStep(ctx, a, bench.Step{}), ErrEnded},
		{"response of nothing", s.AddResponse(ctx, 99, 1, fullResponse(), nil), ErrUnknownAttempt},
		{"grading before the end", s.AddGrading(ctx, b, grading("", "f", "x")), ErrNotEnded},
		{"grading of nothing", s.AddGrading(ctx, 99, grading("", "f", "x")), ErrUnknownAttempt},
		{"unplanned cell", notPlanned, ErrNotPlanned},
		{"no cohort", noCohort, ErrUnknownCohort},
		{"no candidate", noCandidate, ErrUnknownCandidate},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, tt.err, tt.want)
		}
	}
	if _, err := s.Candidate(ctx, candidate(t, "y").ID); !errors.Is(err, ErrUnknownCandidate) {
		t.Errorf("the candidate of a refused end was written: %v", err)
	}
	if err := s.EndAttempt(ctx, b, attemptEnd("done", nil)); err == nil {
		t.Error("an unknown stop reason was accepted")
	}
	wrong := *candidate(t, "z")
	wrong.ID = candidate(t, "other").ID
	if err := s.EndAttempt(ctx, b, attemptEnd(bench.StopInterrupted, &wrong)); err == nil {
		t.Error("a candidate with a wrong id was accepted")
	}
	must(t, s.EndAttempt(ctx, b, attemptEnd(bench.StopEngineLost, nil))) // an invalid end is always possible
	if err := s.AddGrading(ctx, a, grading("other", "f", "")); err == nil {
		t.Error("a grading of another candidate was accepted")
	}
	got, err := s.CellStates(ctx, cohort)
	must(t, err)
	want := []bench.CellState{{Cell: p.Cells[0], Counting: a, Tries: 2, Failed: 1}, {Cell: p.Cells[1]}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestResponsesRoundTrip(t *testing.T) {
	path := dbPath(t)
	s := openStore(t, path)
	p := plan(1)
	a := begin(t, s, cohortOf(t, s, p), p.Cells[0])
	full := fullResponse()
	partial := bench.Response{Timings: &bench.Timings{PredictedN: ptr(int64(0))}, Usage: bench.Usage{PromptTokens: ptr(int64(0))}}
	fault := &bench.EngineError{
		Fault: bench.FaultContextExceeded, URL: "http://u:secret@h/v1", Status: 400, Message: "too long", PromptTokens: ptr(int64(9)),
		ContextSize: ptr(int64(8)), RetryAfter: time.Second, Err: errors.New("cause"),
	}
	must(t, s.AddResponse(t.Context(), a, 1, full, nil))
	must(t, s.AddResponse(t.Context(), a, 2, bench.Response{}, fault))
	must(t, s.AddResponse(t.Context(), a, 2, partial, nil))
	got, err := openReader(t, path).Responses(t.Context(), a)
	must(t, err)
	stored := full
	stored.Text, stored.Reasoning, stored.ToolCalls = "", "", nil
	want := []ResponseRow{
		{N: 1, Turn: 1, Response: stored, TextBytes: 4, ReasoningBytes: 3, ToolCalls: 1},
		{N: 2, Turn: 2, Fault: &bench.EngineError{
			Fault: bench.FaultContextExceeded, URL: "http://h/v1", Status: 400, Message: "too long: cause",
			PromptTokens: ptr(int64(9)), ContextSize: ptr(int64(8)), RetryAfter: time.Second,
		}},
		{N: 3, Turn: 2, Response: partial},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNilIsNull(t *testing.T) {
	path := dbPath(t)
	s := openStore(t, path)
	p := plan(1)
	a := begin(t, s, cohortOf(t, s, p), p.Cells[0])
	must(t, s.AddResponse(t.Context(), a, 1, bench.Response{}, nil))
	for _, table := range []string{"responses", "response_timings"} {
		known := map[string]bool{
			"attempt": true, "n": true, "turn": true, "streamed": true, "complete": true, "text_bytes": true, "reasoning_bytes": true,
			"tool_calls": true, "token_events": true, "raw_total": true, "has_timings": true,
		}
		for _, c := range columns(t, path, table) {
			var null bool
			must(t, foreign(t, path).QueryRow("SELECT "+c+" IS NULL FROM "+table).Scan(&null))
			if null == known[c] {
				t.Errorf("%s.%s: NULL is %v", table, c, null)
			}
		}
	}
}

func TestStepsCandidatesGradingsAndEventsRoundTrip(t *testing.T) {
	path := dbPath(t)
	s := openStore(t, path)
	p := plan(1)
	cohort := cohortOf(t, s, p)
	a := begin(t, s, cohort, p.Cells[0])
	steps := []bench.Step{
		{Index: 0, Turn: 1, Kind: bench.StepTool, Tool: "run", CallID: "c1", Arguments: "{\"a\":\xff\x00", Answer: "out", Bad: bench.BadJSON, OK: true, Start: clock(), Elapsed: time.Second},
		{Index: 1, Turn: 2, Kind: bench.StepReminder},
	}
	for _, st := range steps {
		must(t, s.AddStep(t.Context(), a, st))
	}
	c := candidate(t, "print()\n")
	must(t, s.EndAttempt(t.Context(), a, attemptEnd(bench.StopSubmitted, c)))
	gradings := []bench.Grading{
		grading(c.ID, "fixture-digest", "", bench.CheckPassed, bench.CheckFailed, bench.CheckNotRun),
		{Candidate: c.ID, Task: "ledger", Fault: "box lost"},
	}
	for _, g := range gradings {
		must(t, s.AddGrading(t.Context(), a, g))
	}
	events := []bench.Event{
		{Kind: bench.EventRunStarted, Time: clock()},
		{Kind: bench.EventAttemptEnded, Time: clock(), Cell: &p.Cells[0].Cell, Attempt: a, Done: 1, Planned: 2, Message: "m"},
	}
	for _, e := range events {
		must(t, s.AddEvent(t.Context(), cohort, e))
	}
	r := openReader(t, path)
	gotSteps, err := r.Steps(t.Context(), a)
	must(t, err)
	gotCandidate, err := r.Candidate(t.Context(), c.ID)
	must(t, err)
	again, err := s.Candidate(t.Context(), c.ID)
	must(t, err)
	tree := bench.Candidate{ID: c.ID, Tree: c.Tree} // what was skipped belongs to the export
	gotGradings, err := r.Gradings(t.Context(), a)
	must(t, err)
	gotEvents, err := r.Events(t.Context(), cohort)
	must(t, err)
	for _, tt := range []struct {
		name      string
		want, got any
	}{
		{"steps", steps, gotSteps}, {"candidate", tree, gotCandidate}, {"candidate of the store", tree, again},
		{"gradings", gradings, gotGradings}, {"events", events, gotEvents},
	} {
		if diff := cmp.Diff(tt.want, tt.got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
}

// Rejected exports and an empty workspace share one tree: the attempt, not the
// tree, says which it was.
func TestRejectionBelongsToTheAttempt(t *testing.T) {
	s := openStore(t, dbPath(t))
	p := plan(3)
	cohort := cohortOf(t, s, p)
	why := []string{"2001 files, over 2000", "", "a file of 2 MiB, over 1 MiB"}
	want := make([]bench.CellState, len(why))
	for i, rejected := range why {
		c := bench.NewCandidate(bench.Export{Rejected: rejected, Skipped: []bench.Skipped{{Path: "x", Reason: "fifo"}}})
		a := begin(t, s, cohort, p.Cells[i])
		must(t, s.EndAttempt(t.Context(), a, attemptEnd(bench.StopSubmitted, &c)))
		want[i] = bench.CellState{Cell: p.Cells[i], Counting: a, Tries: 1, Candidate: c.ID, Rejected: rejected}
		got, err := s.Candidate(t.Context(), c.ID)
		must(t, err)
		if diff := cmp.Diff(bench.Candidate{ID: c.ID}, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("more than the tree is said:\n%s", diff)
		}
	}
	got, err := s.CellStates(t.Context(), cohort)
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLastObserved(t *testing.T) {
	s := openStore(t, dbPath(t))
	p := plan(4)
	cohort := cohortOf(t, s, p)
	wider := plan(6)
	wider.Study = "wider"
	other := cohortOf(t, s, wider)
	ran := func(cohort int64, cell bench.PlannedCell, build string) {
		start := attemptStart()
		start.Observed.Build = build
		_, err := s.BeginAttempt(t.Context(), cohort, cell, start)
		must(t, err)
	}
	ran(cohort, p.Cells[2], "old")
	ran(other, wider.Cells[0], "new")          // a cell that both cohorts have
	ran(other, wider.Cells[4], "of the other") // one that the first lacks
	for _, tt := range []struct {
		cohort    int64
		arm, want string
	}{
		{cohort, "q4", "new"}, {cohort, "q8", ""}, {cohort, "no such arm", ""}, {other, "q4", "of the other"},
	} {
		got, err := s.LastObserved(t.Context(), tt.cohort, tt.arm)
		must(t, err)
		var want *bench.Observed
		if tt.want != "" {
			o := attemptStart().Observed
			o.Build = tt.want
			want = &o
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s of cohort %d:\n%s", tt.arm, tt.cohort, diff)
		}
	}
	if _, err := s.LastObserved(t.Context(), 99, "q4"); !errors.Is(err, ErrUnknownCohort) {
		t.Errorf("%v", err)
	}
}

func TestSecretsAreNotDeclared(t *testing.T) {
	a := armToDoc(bench.Arm{
		URL: "https://me:pw-secret@host/v1", Command: "llama-server --api-key K-secret -m x --hf-token=T-secret",
		ExtraBody: map[string]json.RawMessage{"api_key": json.RawMessage(`"E-secret"`), "top_a": json.RawMessage("1")},
	})
	want := armDoc{
		URL: "https://host/v1", Command: "llama-server --api-key *** -m x --hf-token=***",
		ExtraBody: map[string]json.RawMessage{"api_key": json.RawMessage(`"***"`), "top_a": json.RawMessage("1")},
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Error(diff)
	}
}
