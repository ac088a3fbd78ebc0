package runner

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"assay/internal/bench"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func cells(arms ...string) []bench.PlannedCell {
	var list []bench.PlannedCell
	for seed := 1; seed <= 2; seed++ {
		for _, arm := range arms {
			c := bench.Cell{Arm: arm, Task: "ledger", Seed: seed, Repeat: 1}
			list = append(list, bench.PlannedCell{Cell: c, Key: fmt.Sprint(c)})
		}
	}
	return list
}

func job(overlap bool, arms ...string) Job {
	j := Job{
		Cohort: 1, Overlap: overlap, Reminder: true,
		Limits: bench.Limits{MaxOutputTokens: 100, MaxTurns: 5, MaxTime: time.Minute, CommandTime: time.Second,
			ToolOutputBytes: 1000, IdleTime: time.Second, MaxMalformedCalls: 3, InvalidRetries: 1},
		Work: func(c bench.PlannedCell) (Work, error) {
			tree, err := bench.NewTree([]bench.File{{Path: "a.py", Data: []byte(c.Key)}})
			return Work{Task: bench.Task{Name: c.Task, Instruction: "do it", Workspace: tree}, Fixture: bench.Fixture{Version: "v0"}}, err
		},
	}
	for _, a := range arms {
		j.Arms = append(j.Arms, bench.Arm{Name: a})
	}
	return j
}

func TestEveryCellIsRunAndGradedOnce(t *testing.T) {
	for _, overlap := range []bool{true, false} {
		m := newMemory(cells("a", "b"))
		boxes := &boxCount{}
		r := Runner{Engines: servers{"a": {}, "b": {}}, Boxes: boxes, Grader: &judge{}, Recorder: m}
		sum, err := r.Run(t.Context(), job(overlap, "a", "b"), nil)
		if err != nil {
			t.Fatal(err)
		}
		want := Summary{Planned: 4, Complete: 4, ArmFault: map[string]error{}, Stops: map[string]string{}}
		if diff := cmp.Diff(want, sum); diff != "" {
			t.Errorf("overlap %v (-want +got):\n%s", overlap, diff)
		}
		if boxes.open != 0 || boxes.opened != 4 {
			t.Errorf("%d boxes opened, %d left open; want 4 and 0", boxes.opened, boxes.open)
		}
		for id, g := range m.gradings {
			if len(g) != 1 {
				t.Errorf("attempt %d has %d gradings", id, len(g))
			}
		}
		// The same run again finds nothing to do.
		if _, err := r.Run(t.Context(), job(overlap, "a", "b"), nil); err != nil {
			t.Fatal(err)
		}
		if len(m.begun) != 4 || boxes.opened != 4 {
			t.Errorf("the second run began %d attempts and opened %d boxes", len(m.begun)-4, boxes.opened-4)
		}
	}
}

func TestAnArmWithoutServerIsParked(t *testing.T) {
	m := newMemory(cells("a", "b"))
	r := Runner{Engines: servers{"b": {}}, Boxes: &boxCount{}, Grader: &judge{}, Recorder: m}
	sum, err := r.Run(t.Context(), job(true, "a", "b"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var fault *bench.EngineError
	if sum.Complete != 2 || sum.NotRun != 2 || !errors.As(sum.ArmFault["a"], &fault) {
		t.Errorf("summary %+v", sum)
	}
	if m.kinds()[bench.EventArmFailed] != 1 {
		t.Errorf("events %v", m.kinds())
	}
}

func TestAServerThatGoesAwayLosesOneAttempt(t *testing.T) {
	gone := &server{}
	gone.respond = func(context.Context) (bench.Response, error) {
		gone.gone = true
		return bench.Response{}, &bench.EngineError{Fault: bench.FaultIdle, URL: "http://fake"}
	}
	m := newMemory(cells("a", "b"))
	r := Runner{Engines: servers{"a": gone, "b": {}}, Boxes: &boxCount{}, Grader: &judge{}, Recorder: m}
	sum, err := r.Run(t.Context(), job(true, "a", "b"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if sum.Complete != 2 || sum.Invalid != 1 || sum.NotRun != 1 || sum.ArmFault["a"] == nil {
		t.Errorf("summary %+v", sum)
	}
	if got := m.ends[1].Result.Stop.Reason; got != bench.StopEngineLost {
		t.Errorf("stop %q", got)
	}
}

func TestBoxesThatDoNotStartAreNotTheModelsFault(t *testing.T) {
	m := newMemory(cells("a"))
	boxes := &boxCount{fail: fmt.Errorf("no bubblewrap: %w", bench.ErrBoxLost)}
	r := Runner{Engines: servers{"a": {}}, Boxes: boxes, Grader: &judge{}, Recorder: m}
	for run := 1; run <= 3; run++ {
		sum, err := r.Run(t.Context(), job(true, "a"), nil)
		if err != nil {
			t.Fatal(err)
		}
		// One try and one retry (InvalidRetries 1) for each of two cells.
		if want := min(run, 2) * 2; len(m.begun) != want || sum.Invalid != 2 {
			t.Errorf("run %d: %d attempts begun, want %d; summary %+v", run, len(m.begun), want, sum)
		}
	}
	if got := m.ends[1].Result.Stop.Reason; got != bench.StopSandboxLost {
		t.Errorf("stop %q", got)
	}
}

func TestAFaultOfTheGraderIsGradedAgainOnResume(t *testing.T) {
	m := newMemory(cells("a"))
	j := &judge{fault: "box lost"}
	r := Runner{Engines: servers{"a": {}}, Boxes: &boxCount{}, Grader: j, Recorder: m}
	sum, err := r.Run(t.Context(), job(true, "a"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if sum.Complete != 0 || sum.Invalid != 2 {
		t.Errorf("summary %+v", sum)
	}
	j.fault = ""
	if sum, err = r.Run(t.Context(), job(true, "a"), nil); err != nil {
		t.Fatal(err)
	}
	if sum.Complete != 2 || len(m.begun) != 2 {
		t.Errorf("after the second run: %+v, %d attempts begun", sum, len(m.begun))
	}
}

func TestDrainFinishesTheRunningAttempt(t *testing.T) {
	drain := make(chan struct{})
	s := &server{}
	s.respond = func(ctx context.Context) (bench.Response, error) {
		close(drain) // a second attempt would panic here
		return (&server{}).Respond(ctx, bench.Request{})
	}
	m := newMemory(cells("a"))
	r := Runner{Engines: servers{"a": s}, Boxes: &boxCount{}, Grader: &judge{}, Recorder: m}
	sum, err := r.Run(t.Context(), job(true, "a"), drain)
	if err != nil {
		t.Fatal(err)
	}
	if !sum.Drained || sum.Complete != 1 || sum.NotRun != 1 {
		t.Errorf("summary %+v", sum)
	}
}

func TestStoppingAtOnceRecordsTheAttemptAsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &server{respond: func(ctx context.Context) (bench.Response, error) {
		cancel()
		<-ctx.Done()
		return bench.Response{}, ctx.Err()
	}}
	m := newMemory(cells("a"))
	boxes := &boxCount{}
	r := Runner{Engines: servers{"a": s}, Boxes: boxes, Grader: &judge{}, Recorder: m}
	if _, err := r.Run(ctx, job(true, "a"), nil); !errors.Is(err, ErrInterrupted) {
		t.Fatalf("error %v", err)
	}
	if got := m.ends[1].Result.Stop.Reason; got != bench.StopInterrupted {
		t.Errorf("stop %q", got)
	}
	if boxes.open != 0 {
		t.Errorf("%d boxes left open", boxes.open)
	}
}

func TestARecorderThatFailsEndsTheRun(t *testing.T) {
	m := newMemory(cells("a"))
	m.failEnd = errors.New("disk full")
	boxes := &boxCount{}
	r := Runner{Engines: servers{"a": {}}, Boxes: boxes, Grader: &judge{}, Recorder: m}
	if _, err := r.Run(t.Context(), job(true, "a"), nil); !errors.Is(err, m.failEnd) {
		t.Errorf("error %v", err)
	}
	if len(m.begun) != 1 || boxes.open != 0 {
		t.Errorf("%d attempts begun, %d boxes left open", len(m.begun), boxes.open)
	}
}
