package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/bench"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cells are two seeds of one task for each arm, seed by seed.
func cells(arms ...string) []bench.PlannedCell {
	var list []bench.PlannedCell
	for seed := 1; seed <= 2; seed++ {
		for _, arm := range arms {
			c := bench.Cell{Arm: arm, Task: "ledger", Seed: seed, Repeat: 1}
			list = append(list, bench.PlannedCell{Cell: c, Key: fmt.Sprint(c), Variant: bench.VariantFixed,
				TaskDigest: "task", FixtureVersion: "v0", FixtureDigest: "fixture"})
		}
	}
	return list
}

// byArm are the same cells arm by arm.
func byArm(arms ...string) []bench.PlannedCell {
	list := cells(arms...)
	slices.SortStableFunc(list, func(a, b bench.PlannedCell) int { return strings.Compare(a.Arm, b.Arm) })
	return list
}

func job(r *recorder, overlap bool, arms ...string) Job {
	j := Job{
		Cohort: r.cohort, Overlap: overlap, Reminder: true,
		Limits: bench.Limits{MaxOutputTokens: 100, MaxTurns: 5, MaxTime: time.Minute, CommandTime: time.Second,
			ToolOutputBytes: 1000, IdleTime: time.Second, MaxMalformedCalls: 3, InvalidRetries: 1},
		Work: func(c bench.PlannedCell) (Work, error) {
			tree, err := bench.NewTree([]bench.File{{Path: "a.py", Data: []byte(c.Key)}})
			return Work{Task: bench.Task{Name: c.Task, Instruction: "do it", Workspace: tree}, Fixture: bench.Fixture{Version: "v0", Digest: "fixture"}}, err
		},
	}
	for _, a := range arms {
		j.Arms = append(j.Arms, bench.Arm{Name: a})
	}
	return j
}

// counts are a summary's four counts of cells.
func counts(s Summary) [4]int { return [4]int{s.Complete, s.Ungraded, s.Invalid, s.NotRun} }

func mustRun(t *testing.T, r Runner, j Job) Summary {
	t.Helper()
	sum, err := r.Run(t.Context(), j, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func TestEveryCellIsRunAndGradedOnce(t *testing.T) {
	for _, overlap := range []bool{true, false} {
		m := newRecorder(t, cells("a", "b"))
		boxes, seen := &boxCount{}, &events{}
		r := Runner{Engines: servers{"a": {}, "b": {}}, Boxes: boxes, Grader: &judge{}, Recorder: m, Notify: seen.add}
		sum := mustRun(t, r, job(m, overlap, "a", "b"))
		want := Summary{Planned: 4, Complete: 4, ArmFault: map[string]error{}, Stops: map[string]string{}}
		if diff := cmp.Diff(want, sum); diff != "" {
			t.Errorf("overlap %v (-want +got):\n%s", overlap, diff)
		}
		if boxes.open != 0 || boxes.opened != 4 {
			t.Errorf("%d boxes opened, %d left open; want 4 and 0", boxes.opened, boxes.open)
		}
		if n := len(seen.words(bench.EventGraded)); n != 4 {
			t.Errorf("%d gradings", n)
		}
		if last := seen.list[len(seen.list)-1]; last.Kind != bench.EventRunEnded || last.Done != 4 {
			t.Errorf("last event %+v", last)
		}
		// The same run again finds nothing to do.
		mustRun(t, r, job(m, overlap, "a", "b"))
		if m.tries(t) != 4 || boxes.opened != 4 {
			t.Errorf("the second run began %d attempts and opened %d boxes", m.tries(t)-4, boxes.opened-4)
		}
	}
}

// Without overlap no candidate is judged while a model works.
func TestAfterArmGradesWhileNoAttemptRuns(t *testing.T) {
	m := newRecorder(t, byArm("a", "b"))
	seen := &events{}
	r := Runner{Engines: servers{"a": {}, "b": {}}, Boxes: &boxCount{}, Grader: &judge{}, Recorder: m, Notify: seen.add}
	if sum := mustRun(t, r, job(m, false, "a", "b")); sum.Complete != 4 {
		t.Errorf("summary %+v", sum)
	}
	// Both cells of an arm end before the first of them is graded.
	var order []string
	for _, e := range seen.list {
		if e.Kind == bench.EventAttemptEnded || e.Kind == bench.EventGraded {
			order = append(order, string(e.Kind)+" "+e.Cell.Arm)
		}
	}
	want := []string{"attempt_ended a", "attempt_ended a", "graded a", "graded a", "attempt_ended b", "attempt_ended b", "graded b", "graded b"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnArmWithoutServerIsParked(t *testing.T) {
	m := newRecorder(t, cells("a", "b"))
	seen := &events{}
	r := Runner{Engines: servers{"b": {}}, Boxes: &boxCount{}, Grader: &judge{}, Recorder: m, Notify: seen.add}
	sum := mustRun(t, r, job(m, true, "a", "b"))
	var fault *bench.EngineError
	if counts(sum) != [4]int{2, 0, 0, 2} || !errors.As(sum.ArmFault["a"], &fault) {
		t.Errorf("summary %+v", sum)
	}
	if n := len(seen.words(bench.EventArmFailed)); n != 1 {
		t.Errorf("%d events that an arm failed", n)
	}
}

func TestAServerThatGoesAwayLosesOneAttempt(t *testing.T) {
	gone := &server{}
	gone.respond = func(context.Context) (bench.Response, error) {
		gone.gone = true
		return bench.Response{}, &bench.EngineError{Fault: bench.FaultIdle, URL: "http://fake"}
	}
	m := newRecorder(t, cells("a", "b"))
	r := Runner{Engines: servers{"a": gone, "b": {}}, Boxes: &boxCount{}, Grader: &judge{}, Recorder: m}
	sum := mustRun(t, r, job(m, true, "a", "b"))
	if counts(sum) != [4]int{2, 0, 1, 1} || sum.ArmFault["a"] == nil {
		t.Errorf("summary %+v", sum)
	}
}

// A server that comes back as another one stops the arm: in the attempt, and in a
// later run.
func TestAServerThatChangedStopsTheArm(t *testing.T) {
	s := &server{}
	s.respond = func(context.Context) (bench.Response, error) {
		s.build = "b2"
		return bench.Response{}, &bench.EngineError{Fault: bench.FaultIdle, URL: "http://fake"}
	}
	m := newRecorder(t, cells("a"))
	seen := &events{}
	r := Runner{Engines: servers{"a": s}, Boxes: &boxCount{}, Grader: &judge{}, Recorder: m, Notify: seen.add}
	sum := mustRun(t, r, job(m, true, "a"))
	if counts(sum) != [4]int{0, 0, 1, 1} || sum.ArmFault["a"] == nil {
		t.Errorf("summary %+v", sum)
	}
	if words := seen.words(bench.EventAttemptEnded); len(words) != 1 || !strings.HasPrefix(words[0], string(bench.StopEngineChanged)) || !strings.Contains(words[0], `"b2"`) {
		t.Errorf("attempt ended: %q", words)
	}

	r.Engines = always{&other{}}
	sum = mustRun(t, r, job(m, true, "a"))
	if sum.ArmFault["a"] == nil || !strings.Contains(sum.ArmFault["a"].Error(), "changed since") || m.tries(t) != 1 {
		t.Errorf("after a restart with another build: %+v, %d tries", sum, m.tries(t))
	}
}

func TestBoxesThatDoNotOpenEndTheRun(t *testing.T) {
	m := newRecorder(t, cells("a"))
	boxes := &boxCount{fail: fmt.Errorf("no bubblewrap: %w", bench.ErrBoxLost)}
	r := Runner{Engines: servers{"a": {}}, Boxes: boxes, Grader: &judge{}, Recorder: m}
	sum, err := r.Run(t.Context(), job(m, true, "a"), nil)
	if !errors.Is(err, bench.ErrBoxLost) || counts(sum) != [4]int{0, 0, 0, 2} || m.tries(t) != 0 {
		t.Errorf("error %v, summary %+v, %d tries", err, sum, m.tries(t))
	}
}

func TestInvalidAttemptsAreTriedAgainUpToTheLimit(t *testing.T) {
	s := &server{respond: func(context.Context) (bench.Response, error) {
		return bench.Response{}, &bench.EngineError{Fault: bench.FaultIdle, URL: "http://fake"}
	}}
	m := newRecorder(t, cells("a"))
	r := Runner{Engines: servers{"a": s}, Boxes: &boxCount{}, Grader: &judge{}, Recorder: m}
	for run, want := range []struct{ tries, exhausted int }{{2, 0}, {4, 2}, {4, 2}} {
		sum := mustRun(t, r, job(m, true, "a"))
		if m.tries(t) != want.tries || sum.Exhausted != want.exhausted || sum.Invalid != 2 {
			t.Errorf("run %d: %d tries, summary %+v; want %+v", run+1, m.tries(t), sum, want)
		}
	}
}

func TestAFaultOfTheGraderIsGradedAgainOnResume(t *testing.T) {
	m := newRecorder(t, cells("a"))
	j := &judge{fault: "box lost"}
	r := Runner{Engines: servers{"a": {}}, Boxes: &boxCount{}, Grader: j, Recorder: m}
	if sum := mustRun(t, r, job(m, true, "a")); counts(sum) != [4]int{0, 0, 2, 0} {
		t.Errorf("summary %+v", sum)
	}
	j.fault = ""
	if sum := mustRun(t, r, job(m, true, "a")); sum.Complete != 2 || m.tries(t) != 2 {
		t.Errorf("after the second run: %+v, %d tries", sum, m.tries(t))
	}
}

func TestDrainFinishesTheRunningAttempt(t *testing.T) {
	drain := make(chan struct{})
	s := &server{}
	s.respond = func(ctx context.Context) (bench.Response, error) {
		close(drain) // a second attempt would panic here
		return (&server{}).Respond(ctx, bench.Request{})
	}
	m := newRecorder(t, cells("a"))
	r := Runner{Engines: servers{"a": s}, Boxes: &boxCount{}, Grader: &judge{}, Recorder: m}
	sum, err := r.Run(t.Context(), job(m, true, "a"), drain)
	if err != nil {
		t.Fatal(err)
	}
	if !sum.Drained || counts(sum) != [4]int{1, 0, 0, 1} {
		t.Errorf("summary %+v", sum)
	}
}

// Stopping at once, again and again, costs a cell nothing.
func TestStoppingAtOnceRecordsTheAttemptAsInterrupted(t *testing.T) {
	m := newRecorder(t, cells("a"))
	boxes, seen := &boxCount{}, &events{}
	r := Runner{Boxes: boxes, Grader: &judge{}, Recorder: m, Notify: seen.add}
	for range 4 {
		ctx, cancel := context.WithCancel(t.Context())
		r.Engines = servers{"a": {respond: func(ctx context.Context) (bench.Response, error) {
			cancel()
			<-ctx.Done()
			return bench.Response{}, ctx.Err()
		}}}
		if sum, err := r.Run(ctx, job(m, true, "a"), nil); !errors.Is(err, ErrInterrupted) || counts(sum) != [4]int{0, 0, 0, 2} {
			t.Fatalf("error %v, summary %+v", err, sum)
		}
	}
	for _, words := range seen.words(bench.EventAttemptEnded) {
		if !strings.HasPrefix(words, string(bench.StopInterrupted)) {
			t.Errorf("attempt ended: %s", words)
		}
	}
	if boxes.open != 0 {
		t.Errorf("%d boxes left open", boxes.open)
	}
	r.Engines = servers{"a": {}}
	if sum := mustRun(t, r, job(m, true, "a")); sum.Complete != 2 {
		t.Errorf("the same run at last: %+v", sum)
	}
}

func TestARecorderThatFailsEndsTheRun(t *testing.T) {
	m := newRecorder(t, cells("a"))
	m.failEnd = errors.New("disk full")
	boxes := &boxCount{}
	r := Runner{Engines: servers{"a": {}}, Boxes: boxes, Grader: &judge{}, Recorder: m}
	if _, err := r.Run(t.Context(), job(m, true, "a"), nil); !errors.Is(err, m.failEnd) {
		t.Errorf("error %v", err)
	}
	if m.tries(t) != 1 || boxes.open != 0 {
		t.Errorf("%d attempts begun, %d boxes left open", m.tries(t), boxes.open)
	}
}

// always opens the same engine for every arm; other says that it runs another
// build than server does.
type always struct{ engine Engine }

func (a always) Open(context.Context, bench.Arm) (Engine, error) { return a.engine, nil }

type other struct{ server }

func (*other) Observed() bench.Observed { return bench.Observed{Kind: "fake", Build: "b2"} }
