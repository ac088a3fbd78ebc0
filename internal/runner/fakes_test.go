package runner

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/results"
)

// recorder is the real store, with a fault on demand.
type recorder struct {
	*results.Store
	cohort  int64
	failEnd error
}

func newRecorder(t *testing.T, cells []bench.PlannedCell) *recorder {
	t.Helper()
	store, err := results.Open(t.Context(), filepath.Join(t.TempDir(), "run.db"), results.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	p := bench.CohortPlan{Study: "study", StudyText: []byte("x"), StudyDigest: "x", Scaffold: "s", ScaffoldText: []byte("s"), Order: "rounds", Cells: cells}
	for _, c := range cells {
		if !slices.ContainsFunc(p.Arms, func(a bench.Arm) bool { return a.Name == c.Arm }) {
			p.Arms = append(p.Arms, bench.Arm{Name: c.Arm})
		}
	}
	cohort, err := store.EnsureCohort(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return &recorder{Store: store, cohort: cohort}
}

func (r *recorder) EndAttempt(ctx context.Context, id int64, e bench.AttemptEnd) error {
	if r.failEnd != nil {
		return r.failEnd
	}
	return r.Store.EndAttempt(ctx, id, e)
}

// tries counts the attempts of all cells.
func (r *recorder) tries(t *testing.T) int {
	t.Helper()
	states, err := r.CellStates(context.WithoutCancel(t.Context()), r.cohort)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range states {
		n += s.Tries
	}
	return n
}

// events gathers what a run announces.
type events struct {
	mu   sync.Mutex
	list []bench.Event
}

func (e *events) add(ev bench.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, ev)
}

// words are the messages of one kind of event.
func (e *events) words(kind bench.EventKind) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var words []string
	for _, ev := range e.list {
		if ev.Kind == kind {
			words = append(words, ev.Message)
		}
	}
	return words
}

// server is an engine that submits at once, unless respond says otherwise.
type server struct {
	respond func(ctx context.Context) (bench.Response, error)
	gone    bool
	build   string // what it says now
}

func (s *server) Respond(ctx context.Context, _ bench.Request) (bench.Response, error) {
	if s.respond != nil {
		return s.respond(ctx)
	}
	n, ms := int64(10), 100.0
	return bench.Response{Complete: true, Finish: bench.FinishToolCalls, Status: 200,
		ToolCalls: []bench.ToolCall{{ID: "c1", Name: "submit", Arguments: "{}"}},
		Timings:   &bench.Timings{PredictedN: &n, PredictedMS: &ms}}, nil
}

func (s *server) Observed() bench.Observed { return bench.Observed{Kind: "fake", Build: "b1"} }
func (s *server) Observe(context.Context) (bench.Observed, error) {
	if s.gone {
		return bench.Observed{}, &bench.EngineError{Fault: bench.FaultUnreachable, URL: "http://fake"}
	}
	o := s.Observed()
	if s.build != "" {
		o.Build = s.build
	}
	return o, nil
}
func (s *server) Close() error { return nil }

// servers opens the engine of each arm; an arm without one is unreachable.
type servers map[string]*server

func (s servers) Open(_ context.Context, arm bench.Arm) (Engine, error) {
	if e, ok := s[arm.Name]; ok {
		return e, nil
	}
	return nil, &bench.EngineError{Fault: bench.FaultUnreachable, URL: "http://fake"}
}

// boxCount opens boxes and counts those that are open.
type boxCount struct {
	mu     sync.Mutex
	open   int
	opened int
	fail   error
}

func (b *boxCount) Open(ctx context.Context) (Box, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		return nil, b.fail
	}
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(bench.ErrBoxLost, err)
	}
	b.open++
	b.opened++
	return &fakeBox{count: b}, nil
}

type fakeBox struct {
	count *boxCount
	tree  bench.Tree
	once  sync.Once
}

func (b *fakeBox) Put(_ context.Context, t bench.Tree) error { b.tree = t; return nil }
func (b *fakeBox) Run(context.Context, bench.Command) (bench.CommandResult, error) {
	return bench.CommandResult{}, nil
}
func (b *fakeBox) ReadFile(context.Context, string, int64) ([]byte, error) {
	return nil, fs.ErrNotExist
}
func (b *fakeBox) WriteFile(context.Context, string, []byte, fs.FileMode) error { return nil }
func (b *fakeBox) ListFiles(context.Context, string, int) ([]bench.DirEntry, error) {
	return nil, nil
}
func (b *fakeBox) Export(context.Context, bench.ExportLimits) (bench.Export, error) {
	return bench.Export{Tree: b.tree}, nil
}
func (b *fakeBox) Environment() bench.Environment { return bench.Environment{Kind: "fake"} }
func (b *fakeBox) Close() error {
	b.once.Do(func() {
		b.count.mu.Lock()
		b.count.open--
		b.count.mu.Unlock()
	})
	return nil
}

// judge passes every candidate, unless fault is set.
type judge struct{ fault string }

func (j *judge) Grade(ctx context.Context, t bench.Task, f bench.Fixture, c bench.Candidate) (bench.Grading, error) {
	if err := ctx.Err(); err != nil {
		return bench.Grading{}, err
	}
	return bench.Grading{Candidate: c.ID, Task: t.Name, FixtureVersion: f.Version, FixtureDigest: f.Digest, Fault: j.fault, Complete: true, Started: time.Now(),
		Checks: []bench.CheckResult{{ID: "one", Status: bench.CheckPassed}}}, nil
}
