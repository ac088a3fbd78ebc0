package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"assay/internal/bench"
)

// memory is a Recorder that keeps everything in maps and enforces the rule of
// one counting attempt a cell.
type memory struct {
	mu         sync.Mutex
	cells      []bench.PlannedCell
	begun      []bench.PlannedCell // by attempt id - 1
	ends       map[int64]bench.AttemptEnd
	gradings   map[int64][]bench.Grading
	responses  map[int64]int
	candidates map[string]bench.Candidate
	events     []bench.Event
	failEnd    error
}

func newMemory(cells []bench.PlannedCell) *memory {
	return &memory{cells: cells, ends: map[int64]bench.AttemptEnd{}, gradings: map[int64][]bench.Grading{},
		responses: map[int64]int{}, candidates: map[string]bench.Candidate{}}
}

func (m *memory) CellStates(context.Context, int64) ([]bench.CellState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var states []bench.CellState
	for _, c := range m.cells {
		s := bench.CellState{Cell: c}
		for i, b := range m.begun {
			if b.Key != c.Key {
				continue
			}
			id := int64(i + 1)
			s.Tries++
			end, ended := m.ends[id]
			if !ended || end.Result.Stop.Reason.Invalid() {
				s.Invalid++
				continue
			}
			s.Counting = id
			if end.Candidate != nil {
				s.Candidate, s.Rejected = end.Candidate.ID, end.Candidate.Rejected
			}
			for _, g := range m.gradings[id] {
				if g.Fault == "" {
					s.Graded = true
				} else {
					s.Faults++
				}
			}
		}
		states = append(states, s)
	}
	return states, nil
}

func (m *memory) BeginAttempt(_ context.Context, _ int64, c bench.PlannedCell, _ bench.AttemptStart) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begun = append(m.begun, c)
	return int64(len(m.begun)), nil
}

func (m *memory) EndAttempt(ctx context.Context, id int64, e bench.AttemptEnd) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failEnd != nil {
		return m.failEnd
	}
	if _, ok := m.ends[id]; ok {
		return fmt.Errorf("attempt %d ended twice", id)
	}
	m.ends[id] = e
	if e.Candidate != nil {
		m.candidates[e.Candidate.ID] = *e.Candidate
	}
	return nil
}

func (m *memory) Candidate(_ context.Context, id string) (bench.Candidate, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.candidates[id]
	if !ok {
		return bench.Candidate{}, fmt.Errorf("no candidate %q", id)
	}
	return c, nil
}

func (m *memory) AddResponse(_ context.Context, id int64, _ int, _ bench.Response, _ *bench.EngineError) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.responses[id]++
	return nil
}

func (m *memory) AddStep(context.Context, int64, bench.Step) error { return nil }

func (m *memory) AddGrading(_ context.Context, id int64, g bench.Grading) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gradings[id] = append(m.gradings[id], g)
	return nil
}

func (m *memory) AddEvent(_ context.Context, _ int64, e bench.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, e)
	return nil
}

func (m *memory) kinds() map[bench.EventKind]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := map[bench.EventKind]int{}
	for _, e := range m.events {
		n[e.Kind]++
	}
	return n
}

// server is an engine that submits at once, unless respond says otherwise.
type server struct {
	respond func(ctx context.Context) (bench.Response, error)
	gone    bool
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

func (s *server) Observed() bench.Observed { return bench.Observed{Kind: "fake"} }
func (s *server) Observe(context.Context) (bench.Observed, error) {
	if s.gone {
		return bench.Observed{}, &bench.EngineError{Fault: bench.FaultUnreachable, URL: "http://fake"}
	}
	return s.Observed(), nil
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
	return bench.Grading{Candidate: c.ID, Task: t.Name, FixtureVersion: f.Version, Fault: j.fault, Complete: true,
		Checks: []bench.CheckResult{{ID: "one", Status: bench.CheckPassed}}}, nil
}
