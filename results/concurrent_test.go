package results

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"assay/internal/bench"
	"assay/internal/report"

	"pgregory.net/rapid"
)

func TestReadersWhileManyWrite(t *testing.T) {
	path := dbPath(t)
	s := openStore(t, path)
	const writers, each = 4, 8
	p := plan(writers * each)
	cohort := cohortOf(t, s, p)
	r := openReader(t, path)
	var writing, reading sync.WaitGroup
	done := make(chan struct{})
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				a, err := s.BeginAttempt(t.Context(), cohort, p.Cells[w*each+i], attemptStart())
				if err != nil {
					t.Error(err)
					return
				}
				c := candidate(t, fmt.Sprint(w, i))
				for _, err := range []error{
					s.AddResponse(t.Context(), a, 1, fullResponse(), nil),
					s.AddStep(t.Context(), a, bench.Step{Kind: bench.StepModel, Answer: fmt.Sprint(i)}),
					s.EndAttempt(t.Context(), a, attemptEnd(bench.StopSubmitted, c)),
					s.AddGrading(t.Context(), a, grading(c.ID, "fixture-digest", "", bench.CheckPassed)),
				} {
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for range 2 {
		reading.Go(func() {
			for seen := 0; ; {
				views, err := r.Cohorts(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				n := len(views[0].Attempts)
				if n < seen {
					t.Errorf("%d attempts after %d", n, seen)
				}
				seen = n
				for _, a := range views[0].Attempts {
					if a.Ended && (a.Responses != 1 || a.Candidate == "") {
						t.Errorf("half an attempt: %+v", a)
					}
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	writing.Wait()
	close(done)
	reading.Wait()
	states, err := s.CellStates(t.Context(), cohort)
	must(t, err)
	for _, st := range states {
		if st.Counting == 0 || !st.Graded || st.Tries != 1 {
			t.Errorf("%+v", st)
		}
	}
}

// model is what the record should say after some begins, ends and gradings.
type model struct {
	tries    []try
	counting [3]int64 // by cell
}

type try struct {
	id            int64
	cell          int
	ended, counts bool
	reason        bench.StopReason
	graded        map[string]bool // by fixture digest
	faults        map[string]int
}

// Any order of begins, ends and gradings over a few cells, checked against a
// model. Two cohorts share the cells and judge them by two fixtures. Rows stay, so
// a broken rule would still show at the end. What the report calls complete is
// then what CellStates calls graded, over all these histories.
func TestInterleavingsKeepTheInvariants(t *testing.T) {
	path := dbPath(t)
	s := openStore(t, path)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		p := plan(3)
		for i := range p.Cells {
			p.Cells[i].Key += fmt.Sprintf(" of run %d", run)
		}
		cohort := cohortOf(t, s, p)
		corrected := p
		corrected.Cells = slices.Clone(p.Cells)
		for i := range corrected.Cells {
			corrected.Cells[i].FixtureDigest = "corrected"
		}
		other := cohortOf(t, s, corrected)
		var m model
		for range rapid.IntRange(1, 24).Draw(rt, "actions") {
			action := rapid.SampledFrom([]string{"begin", "end", "end", "grade"}).Draw(rt, "action")
			if action == "begin" || len(m.tries) == 0 {
				m.begin(rt, t, s, cohort, p, rapid.IntRange(0, 2).Draw(rt, "cell"))
				continue
			}
			tr := &m.tries[rapid.IntRange(0, len(m.tries)-1).Draw(rt, "attempt")]
			if action == "end" {
				m.end(rt, t, s, tr, rapid.SampledFrom(bench.StopReasons()).Draw(rt, "reason"))
			} else {
				fixture := rapid.SampledFrom([]string{"fixture-digest", "corrected", "old"}).Draw(rt, "fixture")
				m.grade(rt, t, s, tr, fixture, rapid.SampledFrom([]string{"", "", "box lost"}).Draw(rt, "fault"))
			}
		}
		m.check(rt, t, s, cohort)
		m.check(rt, t, s, other)
	})
	reportAgrees(t, s, path)
}

// reportAgrees compares each cohort's report with the states of its cells.
func reportAgrees(t *testing.T, s *Store, path string) {
	t.Helper()
	views, err := openReader(t, path).Cohorts(t.Context())
	must(t, err)
	seen := 0
	for _, c := range report.Build("", views).Cohorts {
		states, err := s.CellStates(t.Context(), c.ID)
		must(t, err)
		graded, counting := map[string]int{}, map[string]int{}
		for _, st := range states {
			if st.Counting != 0 {
				counting[st.Cell.Arm]++
			}
			if st.Graded {
				graded[st.Cell.Arm]++
				seen++
			}
		}
		for name, arm := range c.Arms {
			if arm.Complete != graded[name] {
				t.Errorf("cohort %d, arm %s: the report has %d complete cells, the states have %d", c.ID, name, arm.Complete, graded[name])
			}
			if arm.Attempts != counting[name] {
				t.Errorf("cohort %d, arm %s: the report sums %d attempts, the states have %d that count", c.ID, name, arm.Attempts, counting[name])
			}
			if sum := arm.Complete + arm.Invalid + arm.Ungraded + arm.Open + arm.NotRun; sum != arm.Planned {
				t.Errorf("cohort %d, arm %s: %d cells planned, %d told apart", c.ID, name, arm.Planned, sum)
			}
		}
	}
	if seen == 0 {
		t.Error("no history graded a cell, so nothing was compared")
	}
}

func (m *model) begin(rt *rapid.T, t *testing.T, s *Store, cohort int64, p bench.CohortPlan, cell int) {
	id, err := s.BeginAttempt(t.Context(), cohort, p.Cells[cell], attemptStart())
	if m.counting[cell] != 0 {
		expect(rt, err, ErrCounted)
		return
	}
	expect(rt, err, nil)
	m.tries = append(m.tries, try{id: id, cell: cell, graded: map[string]bool{}, faults: map[string]int{}})
}

func (m *model) end(rt *rapid.T, t *testing.T, s *Store, tr *try, reason bench.StopReason) {
	err := s.EndAttempt(t.Context(), tr.id, attemptEnd(reason, nil))
	switch {
	case tr.ended:
		expect(rt, err, ErrEnded)
	case !reason.Invalid() && m.counting[tr.cell] != 0:
		expect(rt, err, ErrCounted)
	default:
		expect(rt, err, nil)
		tr.ended, tr.counts, tr.reason = true, !reason.Invalid(), reason
		if tr.counts {
			m.counting[tr.cell] = tr.id
		}
	}
}

func (m *model) grade(rt *rapid.T, t *testing.T, s *Store, tr *try, fixture, fault string) {
	err := s.AddGrading(t.Context(), tr.id, grading("", fixture, fault, bench.CheckFailed))
	if !tr.ended {
		expect(rt, err, ErrNotEnded)
		return
	}
	expect(rt, err, nil)
	if fault == "" {
		tr.graded[fixture] = true
	} else {
		tr.faults[fixture]++
	}
}

func (m *model) check(rt *rapid.T, t *testing.T, s *Store, cohort int64) {
	states, err := s.CellStates(t.Context(), cohort)
	expect(rt, err, nil)
	for cell, got := range states {
		want := bench.CellState{Cell: got.Cell, Counting: m.counting[cell]}
		for _, tr := range m.tries {
			if tr.cell != cell {
				continue
			}
			want.Tries++
			switch fixture := got.Cell.FixtureDigest; {
			case !tr.ended:
				want.Unended++
			case tr.counts:
				want.Graded, want.Faults = tr.graded[fixture], tr.faults[fixture]
			case tr.reason != bench.StopInterrupted:
				want.Failed++
			}
		}
		if got != want {
			rt.Fatalf("cell %d is %+v, want %+v", cell, got, want)
		}
	}
	var worst int
	err = s.db.QueryRow("SELECT coalesce(max(n), 0) FROM (SELECT sum(counts) AS n FROM attempt_ends GROUP BY cell)").Scan(&worst)
	if err != nil || worst > 1 {
		rt.Fatalf("%d counting attempts at one cell (%v)", worst, err)
	}
}

func expect(rt *rapid.T, got, want error) {
	rt.Helper()
	if !errors.Is(got, want) {
		rt.Fatalf("got %v, want %v", got, want)
	}
}
