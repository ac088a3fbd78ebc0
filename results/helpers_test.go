package results

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"assay/internal/bench"
)

func clock() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC) }

func dbPath(t testing.TB) string { return filepath.Join(t.TempDir(), "record.db") }

func openStore(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, Options{Version: "test", Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func openReader(t testing.TB, path string) *Reader {
	t.Helper()
	r, err := OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// foreign is a connection of a program that knows nothing of this package.
func foreign(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func ptr[T any](v T) *T { return &v }

func plan(cells int) bench.CohortPlan {
	p := bench.CohortPlan{
		Study: "demo", StudyDigest: "study-digest", StudyText: []byte("schema = 1\n"), Assay: "v0.1.0",
		Scaffold: "scaffold-digest", ScaffoldText: []byte("prompt"), Order: "rounds",
		Limits: bench.Limits{
			MaxOutputTokens: 1, MaxSequenceTokens: 2, MaxTurns: 3, MaxTime: 4 * time.Second, CommandTime: 5 * time.Second,
			ToolOutputBytes: 6, IdleTime: 7 * time.Second, MaxMalformedCalls: 8, InvalidRetries: 9,
		},
		Arms: []bench.Arm{
			{
				Name: "q4", URL: "http://localhost:8080/v1", Model: "m", KeyEnv: "KEY", Replay: bench.ReplayStrip,
				Sampling:  bench.Sampling{Temperature: ptr(0.0), TopP: ptr(0.9), TopK: ptr(int64(0)), MinP: ptr(0.1), RepeatPenalty: ptr(1.0), PresencePenalty: ptr(0.5)},
				ExtraBody: map[string]json.RawMessage{"cache_prompt": json.RawMessage("true")},
			},
			{Name: "q8", Command: "llama-server -m q8.gguf"},
		},
	}
	for i := range cells {
		p.Cells = append(p.Cells, bench.PlannedCell{
			Cell:    bench.Cell{Arm: p.Arms[i%2].Name, Task: "ledger", Seed: i/2 + 1, Repeat: 1},
			Variant: bench.VariantFixed, TaskDigest: "task-digest", FixtureVersion: "v0", FixtureDigest: "fixture-digest",
			Key: fmt.Sprintf("key-%d", i),
		})
	}
	return p
}

func attemptStart() bench.AttemptStart {
	return bench.AttemptStart{
		Worker: "rig1", Start: clock().Add(time.Hour),
		Observed: bench.Observed{
			Kind: "scripted", Build: "b1", Model: "m", Served: []string{"m", "n"}, ContextPerSlot: ptr(int64(4096)),
			Slots: ptr(int64(2)), TemplateDigest: "td", ModelPath: "/models/m.gguf", Simulated: true,
			Sampling: map[string]string{"temperature": "0.7"},
		},
		Environment: environment(),
	}
}

func environment() bench.Environment {
	return bench.Environment{
		Kind: "bwrap", Root: "root", Python: "3.11.2", PackagesDigest: "pd",
		Enforces: bench.Enforces{Memory: true, Disk: true, Network: true},
	}
}

func fullResponse() bench.Response {
	return bench.Response{
		RequestBody: []byte(`{"model":"m"}`), Raw: []byte("data: [DONE]\n\n"), RawTotal: 14, Status: 200, Streamed: true, Complete: true,
		ID: "id", Model: "m", Fingerprint: "fp", Text: "text", Reasoning: "why", ReasoningField: "reasoning_content", Refusal: "no",
		ToolCalls: []bench.ToolCall{{ID: "1", Name: "run", Arguments: "{}"}}, FinishRaw: "tool_calls", Finish: bench.FinishToolCalls,
		Usage:   bench.Usage{PromptTokens: ptr(int64(10)), CompletionTokens: ptr(int64(5)), CachedTokens: ptr(int64(0)), ReasoningTokens: ptr(int64(2))},
		Timings: timings(5, 100),
		Marks: bench.Marks{
			Start: clock(), FirstByte: ptr(time.Millisecond), FirstToken: ptr(2 * time.Millisecond), FirstAnswer: ptr(3 * time.Millisecond),
			LastToken: ptr(4 * time.Millisecond), End: ptr(5 * time.Millisecond),
		},
		TokenEvents: 5, Simulated: ptr(time.Second),
	}
}

func timings(n int64, ms float64) *bench.Timings {
	return &bench.Timings{
		CacheN: ptr(int64(1)), PromptN: ptr(int64(9)), PromptMS: ptr(12.5), PredictedN: ptr(n), PredictedMS: ptr(ms),
		DraftN: ptr(int64(4)), DraftNAccepted: ptr(int64(3)),
	}
}

func candidate(t testing.TB, text string) *bench.Candidate {
	t.Helper()
	tree, err := bench.NewTree([]bench.File{
		{Path: "ledger.py", Data: []byte(text)}, {Path: "bin/run", Exec: true, Data: []byte("#!/bin/sh\n")},
		{Path: "odd \xff name", Data: []byte{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := bench.NewCandidate(bench.Export{Tree: tree, Skipped: []bench.Skipped{{Path: "link", Reason: "symlink"}}})
	return &c
}

func attemptEnd(reason bench.StopReason, c *bench.Candidate) bench.AttemptEnd {
	return bench.AttemptEnd{
		Result: bench.AgentResult{
			Stop:  bench.Stop{Reason: reason, Message: "what happened", Limit: "max_turns", Value: "3", Reached: "4"},
			Turns: 4, TaskTime: 90 * time.Second, BadCalls: map[bench.BadCall]int{bench.BadJSON: 2}, Reminders: 1,
			EngineIdle: []bench.IdleGap{{Elapsed: time.Millisecond, FileOnly: true}, {Elapsed: time.Second}}, Retries: 2,
		},
		Candidate: c, ProtectedTouched: []string{"data.csv"}, End: clock().Add(2 * time.Hour),
	}
}

func grading(candidate, fixture, fault string, statuses ...bench.CheckStatus) bench.Grading {
	g := bench.Grading{
		Candidate: candidate, Task: "ledger", FixtureVersion: "v0", FixtureDigest: fixture, Environment: environment(),
		Judge: bench.Environment{Kind: "bwrap"}, Complete: fault == "", Flags: []bench.Flag{bench.FlagTimeout}, Fault: fault,
		Limits: bench.FixtureLimits{
			Process:      bench.ProcessLimits{Wall: time.Second, CPU: 2 * time.Second, OutputBytes: 3, KeepBytes: 4, MemoryBytes: 5, FileBytes: 6, Processes: 7, OpenFiles: 8},
			JudgeSeconds: 1.5,
		},
		Frames: []bench.JudgeFrame{{Seq: 0, From: "judge", Bytes: []byte("\x00\xff")}, {Seq: 1, From: "host", Bytes: []byte("{}")}},
		Secret: []byte{1, 2, 3}, Started: clock().Add(3 * time.Hour), Elapsed: 700 * time.Millisecond,
	}
	for i, s := range statuses {
		c := bench.CheckResult{ID: fmt.Sprintf("check-%d", i), Status: s, Elapsed: time.Duration(i) * time.Millisecond}
		if s != bench.CheckPassed {
			c.Message, c.Flags = "expected 1, got 2", []bench.Flag{bench.FlagJudgeError}
		}
		g.Checks = append(g.Checks, c)
	}
	return g
}

// cohortOf writes a plan and returns its id.
func cohortOf(t testing.TB, s *Store, p bench.CohortPlan) int64 {
	t.Helper()
	id, err := s.EnsureCohort(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func begin(t testing.TB, s *Store, cohort int64, cell bench.PlannedCell) int64 {
	t.Helper()
	id, err := s.BeginAttempt(t.Context(), cohort, cell, attemptStart())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// filled is a database with a row in every table.
func filled(t testing.TB) string {
	t.Helper()
	path := dbPath(t)
	s, err := Open(t.Context(), path, Options{Version: "test", Now: clock})
	must(t, err)
	p := plan(2)
	cohort := cohortOf(t, s, p)
	a := begin(t, s, cohort, p.Cells[0])
	must(t, s.AddResponse(t.Context(), a, 1, fullResponse(), nil))
	must(t, s.AddStep(t.Context(), a, bench.Step{Index: 0, Turn: 1, Kind: bench.StepTool, Tool: "run", Arguments: "{}", Answer: "ok", OK: true}))
	c := candidate(t, "x")
	must(t, s.EndAttempt(t.Context(), a, attemptEnd(bench.StopSubmitted, c)))
	must(t, s.AddGrading(t.Context(), a, grading(c.ID, "fixture-digest", "", bench.CheckPassed)))
	must(t, s.AddEvent(t.Context(), cohort, bench.Event{Kind: bench.EventRunStarted, Time: clock()}))
	must(t, s.Close())
	return path
}

// scanInto collects a single text column.
func scanInto(out *[]string) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		var s string
		err := rows.Scan(&s)
		*out = append(*out, s)
		return err
	}
}
