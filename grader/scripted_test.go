package grader

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"testing"

	"assay/internal/bench"
)

// scriptBoxes has a judge that is a Go function, and candidates that do nothing.
type scriptBoxes struct {
	judge func(j *scriptJudge)
	lose  func(n int) error // error of the n-th Reset of any candidate box, from 1
	mu    sync.Mutex
	n     int
}

func (b *scriptBoxes) Candidate(context.Context) (Box, error) { return &scriptBox{boxes: b}, nil }
func (b *scriptBoxes) Judge(context.Context) (Box, error) {
	return &scriptBox{boxes: b, judge: b.judge}, nil
}

type scriptBox struct {
	Files
	boxes *scriptBoxes
	judge func(*scriptJudge)
}

func (b *scriptBox) Reset(context.Context, bench.Tree) error {
	if b.judge != nil || b.boxes.lose == nil {
		return nil
	}
	b.boxes.mu.Lock()
	defer b.boxes.mu.Unlock()
	b.boxes.n++
	return b.boxes.lose(b.boxes.n)
}

func (b *scriptBox) Run(context.Context, bench.Command) (bench.CommandResult, error) {
	return bench.CommandResult{Exit: bench.Exit{Reason: bench.ExitExited}}, nil
}
func (b *scriptBox) Close() error { return nil }

func (b *scriptBox) Start(context.Context, bench.Command) (bench.Process, error) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	errR, errW := io.Pipe()
	p := &scriptProcess{in: inW, out: outR, err: errR, done: make(chan struct{})}
	p.kill = func() {
		_ = inR.CloseWithError(io.EOF)
		_ = outW.Close()
		_ = errW.Close()
	}
	go func() {
		defer close(p.done)
		defer p.kill()
		j := &scriptJudge{in: inR, out: outW}
		if body, err := readFrame(inR, maxJudgeFrame); err == nil && json.Unmarshal(body, &j.begin) == nil {
			b.judge(j)
		}
	}()
	return p, nil
}

type scriptProcess struct {
	in       io.WriteCloser
	out, err io.Reader
	kill     func()
	done     chan struct{}
}

func (p *scriptProcess) Stdin() io.WriteCloser { return p.in }
func (p *scriptProcess) Stdout() io.Reader     { return p.out }
func (p *scriptProcess) Stderr() io.Reader     { return p.err }
func (p *scriptProcess) Kill()                 { p.kill() }
func (p *scriptProcess) Wait(ctx context.Context) (bench.Exit, error) {
	select {
	case <-p.done:
		return bench.Exit{Reason: bench.ExitExited}, nil
	case <-ctx.Done():
		return bench.Exit{}, ctx.Err()
	}
}

// scriptJudge is a judge process in Go.
type scriptJudge struct {
	begin msgBegin
	in    io.Reader
	out   io.Writer
	n     int
}

func (j *scriptJudge) raw(body string) {
	_, _ = j.out.Write(frame([]byte(body))) // an error: the host has given up
}

func (j *scriptJudge) send(m any) {
	b, err := encode(m)
	if err != nil {
		panic(err)
	}
	j.raw(string(b))
}

// ask sends a numbered request and reads the reply.
func (j *scriptJudge) ask(m map[string]any) {
	j.n++
	m["n"], m["lane"] = j.n, 0
	j.send(m)
	_, _ = readFrame(j.in, maxJudgeFrame)
}

func (j *scriptJudge) start(id string) { j.ask(map[string]any{"op": "begin_check", "id": id}) }
func (j *scriptJudge) verdict(id, status string) {
	j.ask(map[string]any{"op": "result", "id": id, "status": status, "message": ""})
}

func (j *scriptJudge) pass(ids ...string) {
	for _, id := range ids {
		j.start(id)
		j.verdict(id, "passed")
	}
}

func (j *scriptJudge) end(count int, nonce string) {
	j.send(msgEnd{Op: "end", Count: count, Nonce: nonce})
}

// blocks until the host has killed the process.
func (j *scriptJudge) hang() { _, _ = io.Copy(io.Discard, j.in) }

// onlyReference lets a judge fail for the candidate and work for the reference: a
// candidate is tried twice before the reference is asked.
func onlyReference(bad func(*scriptJudge)) func(*scriptJudge) {
	var mu sync.Mutex
	n := 0
	return func(j *scriptJudge) {
		mu.Lock()
		n++
		now := n
		mu.Unlock()
		if now <= 2 {
			bad(j)
			return
		}
		j.pass(j.begin.Run...)
		j.end(len(j.begin.Run), j.begin.Nonce)
	}
}

func TestFailClosed(t *testing.T) {
	tests := map[string]func(*scriptJudge){
		"no frame":              func(*scriptJudge) {},
		"no end frame":          func(j *scriptJudge) { j.pass("a", "b", "c") },
		"end without checks":    func(j *scriptJudge) { j.end(0, j.begin.Nonce) },
		"end that claims three": func(j *scriptJudge) { j.end(3, j.begin.Nonce) },
		"missing id":            func(j *scriptJudge) { j.pass("a", "b"); j.end(2, j.begin.Nonce) },
		"wrong count":           func(j *scriptJudge) { j.pass("a", "b", "c"); j.end(2, j.begin.Nonce) },
		"wrong nonce":           func(j *scriptJudge) { j.pass("a", "b", "c"); j.end(3, "00") },
		"no nonce":              func(j *scriptJudge) { j.pass("a", "b", "c"); j.raw(`{"op":"end","count":3}`) },
		"unknown id":            func(j *scriptJudge) { j.pass("a", "b", "z"); j.end(3, j.begin.Nonce) },
		"duplicate id":          func(j *scriptJudge) { j.pass("a", "a", "b", "c"); j.end(4, j.begin.Nonce) },
		"duplicate at the end":  func(j *scriptJudge) { j.pass("a", "b", "c", "c"); j.end(3, j.begin.Nonce) },
		"other order":           func(j *scriptJudge) { j.pass("b", "a", "c"); j.end(3, j.begin.Nonce) },
		"verdict on another":    func(j *scriptJudge) { j.start("a"); j.verdict("b", "passed"); j.hang() },
		"verdict before begin":  func(j *scriptJudge) { j.verdict("a", "passed"); j.hang() },
		"unknown verdict":       func(j *scriptJudge) { j.start("a"); j.verdict("a", "ok"); j.hang() },
		"number twice":          func(j *scriptJudge) { j.start("a"); j.n = 0; j.verdict("a", "passed"); j.hang() },
		"another lane": func(j *scriptJudge) {
			j.raw(`{"op":"begin_check","n":1,"lane":1,"id":"a"}`)
			j.hang()
		},
		"unknown op":        func(j *scriptJudge) { j.start("a"); j.ask(map[string]any{"op": "pass"}); j.hang() },
		"step out of check": func(j *scriptJudge) { j.ask(map[string]any{"op": "exists", "path": "x"}); j.hang() },
		"surplus field": func(j *scriptJudge) {
			j.ask(map[string]any{"op": "begin_check", "id": "a", "status": "passed"})
			j.hang()
		},
		"no JSON": func(j *scriptJudge) { j.raw(`{"op":"begin_check"`); j.hang() },
		"two frames": func(j *scriptJudge) {
			j.raw(`{"op":"begin_check","n":1,"lane":0,"id":"a"}{"op":"end"}`)
			j.hang()
		},
		"path out of the box": func(j *scriptJudge) {
			j.start("a")
			j.ask(map[string]any{"op": "read", "path": "../x"})
			j.hang()
		},
		"fault":           func(j *scriptJudge) { j.raw(`{"op":"fault","message":"boom"}`); j.hang() },
		"crash mid-check": func(j *scriptJudge) { j.pass("a"); j.start("b") },
		"deadline":        func(j *scriptJudge) { j.start("a"); j.hang() },
		"deadline at end": func(j *scriptJudge) { j.pass("a", "b", "c"); j.hang() },
	}
	f := fixtureOf("", "a", "b", "c")
	f.Limits.JudgeSeconds = 0.1
	for name, judge := range tests {
		t.Run(name+"/also for the reference", func(t *testing.T) {
			g := gradeWith(t, &scriptBoxes{judge: judge}, f, candidateOf(right))
			if g.Functional() || g.Complete || g.Fault == "" || len(g.Checks) != 3 {
				explain(t, g)
				t.Error("want a fault, nothing complete, three checks")
			}
		})
		t.Run(name+"/not for the reference", func(t *testing.T) {
			g := gradeWith(t, &scriptBoxes{judge: onlyReference(judge)}, f, candidateOf(right))
			if g.Functional() || g.Fault != "" || len(g.Checks) != 3 || len(g.Flags) != 1 || g.Flags[0] != bench.FlagJudgeError {
				explain(t, g)
				t.Error("want a failed check with the flag judge_error")
			}
		})
	}
}

func TestScriptedJudgePasses(t *testing.T) {
	judge := func(j *scriptJudge) {
		j.pass(j.begin.Run...)
		j.end(len(j.begin.Run), j.begin.Nonce)
	}
	if g := gradeWith(t, &scriptBoxes{judge: judge}, fixtureOf("", "a", "b", "c"), candidateOf(right)); !g.Functional() {
		explain(t, g)
		t.Error("want functional: the table of faults proves nothing otherwise")
	}
	for _, f := range []bench.Fixture{fixtureOf(""), fixtureOf("", "a", "a"), fixtureOf("", "")} {
		if g := gradeWith(t, &scriptBoxes{judge: judge}, f, candidateOf(right)); g.Functional() || g.Complete || g.Fault == "" {
			explain(t, g)
			t.Error("want a fault for a fixture without checks or with one twice")
		}
	}
}

func TestBoxLost(t *testing.T) {
	judge := func(j *scriptJudge) {
		j.pass(j.begin.Run...)
		j.end(len(j.begin.Run), j.begin.Nonce)
	}
	// Resets count over all boxes: a is the first, b the second one, and so on.
	tests := []struct {
		name  string
		lost  func(n int) bool
		b     bench.CheckStatus
		flags int
		fault bool
	}{
		{"never", func(int) bool { return false }, bench.CheckPassed, 0, false},
		{"once at b", func(n int) bool { return n == 2 }, bench.CheckPassed, 0, false},
		{"twice at b, not with the reference", func(n int) bool { return n == 2 || n == 3 }, bench.CheckFailed, 1, false},
		{"always", func(n int) bool { return n >= 2 }, bench.CheckNotRun, 0, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			boxes := &scriptBoxes{judge: judge, lose: func(n int) error {
				if test.lost(n) {
					return errLost
				}
				return nil
			}}
			g := gradeWith(t, boxes, fixtureOf("", "a", "b", "c"), candidateOf(right))
			want := map[string]bench.CheckStatus{"a": bench.CheckPassed, "b": test.b, "c": bench.CheckPassed}
			if test.fault {
				want["c"] = bench.CheckNotRun
			}
			for id, status := range statuses(g) {
				if want[id] != status {
					t.Errorf("%s: %s, want %s", id, status, want[id])
				}
			}
			if len(g.Flags) != test.flags || (g.Fault != "") != test.fault || g.Complete == test.fault {
				explain(t, g)
				t.Error("flags, fault or completeness differ")
			}
			for _, f := range g.Flags {
				if f != bench.FlagBoxLostByCandidate {
					t.Errorf("flag %s", f)
				}
			}
		})
	}
}

func TestContextEndsGrading(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	boxes := &scriptBoxes{judge: func(j *scriptJudge) { j.start("a"); cancel(); j.hang() }}
	g := New(boxes, Options{})
	out, err := g.Grade(ctx, solveTask(), fixtureOf("", "a"), candidateOf(right))
	if err == nil || out.Complete || out.Functional() {
		t.Errorf("got error %v, complete %v", err, out.Complete)
	}
}
