package grader

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"

	"assay/internal/bench"
	"assay/internal/sandbox/kinds"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if code, done := kinds.Hidden(os.Args[1:], os.Stdin); done {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

func TestRejectedCandidateOpensNoBox(t *testing.T) {
	boxes := &hostBoxes{t: t}
	c := bench.NewCandidate(bench.Export{Rejected: "more than 2000 files"})
	g := gradeWith(t, boxes, fixtureOf(acceptance, solveIDs...), c)
	if boxes.candidates+boxes.judges != 0 || g.Functional() || g.Passed() != 0 || g.Fault != "" || len(g.Checks) != len(solveIDs) {
		explain(t, g)
		t.Errorf("%d boxes opened", boxes.candidates+boxes.judges)
	}
	for _, c := range g.Checks {
		if c.Status != bench.CheckFailed || !strings.Contains(c.Message, "2000 files") {
			t.Errorf("%+v", c)
		}
	}
}

func TestCallsWithoutSense(t *testing.T) {
	g := New(&hostBoxes{t: t}, Options{})
	altered := candidateOf(right)
	altered.Tree = candidateOf(wrong).Tree
	if _, err := g.Grade(t.Context(), solveTask(), fixtureOf("", "a"), altered); err == nil {
		t.Error("a candidate with other bytes than its id says was graded")
	}
	other := fixtureOf("", "a")
	other.Task = "other"
	if _, err := g.Grade(t.Context(), solveTask(), other, candidateOf(right)); err == nil {
		t.Error("a fixture of another task was used")
	}
}

func TestGradingIsRecorded(t *testing.T) {
	g := gradeWith(t, &hostBoxes{t: t}, fixtureOf(acceptance, solveIDs...), candidateOf(right))
	from := map[string]int{}
	for i, f := range g.Frames {
		from[f.From]++
		if f.Seq != i {
			t.Fatalf("frame %d has number %d", i, f.Seq)
		}
	}
	if from[fromJudge] == 0 || from[fromHost] == 0 || from[fromCandidate] == 0 || len(g.Secret) != 32 {
		t.Errorf("frames %v, secret of %d bytes", from, len(g.Secret))
	}
	last := g.Frames[len(g.Frames)-1]
	if !bytes.Contains(last.Bytes, []byte(`"op":"end"`)) || g.Environment.Kind != "host candidate" || g.Judge.Kind != "host judge" {
		t.Errorf("last frame %s, environments %+v %+v", last.Bytes, g.Environment, g.Judge)
	}
}

func TestRecorderIsBounded(t *testing.T) {
	r := &recorder{limit: 10}
	for range 4 {
		r.add(fromJudge, []byte("1234"))
	}
	got := r.result()
	if len(got) != 3 || string(got[2].Bytes) != `{"op":"frames_cut","kept":2,"seen":4,"limit_bytes":10}` {
		t.Errorf("got %d frames, last %s", len(got), got[len(got)-1].Bytes)
	}
}

func TestGradingsAtTheSameTime(t *testing.T) {
	boxes := &hostBoxes{t: t}
	g := New(boxes, Options{})
	t.Cleanup(func() { _ = g.Close() })
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			source := right
			if i%2 == 1 {
				source = wrong
			}
			out, err := g.Grade(t.Context(), solveTask(), fixtureOf(acceptance, solveIDs...), candidateOf(source))
			if err != nil || out.Functional() != (i%2 == 0) {
				t.Errorf("grading %d: functional %v, %v", i, out.Functional(), err)
			}
		})
	}
	wg.Wait()
}

// The judge's clock stands while the candidate works.
func TestJudgeWaitsForCandidate(t *testing.T) {
	source := "from assay import kit\nclass T(kit.Case):\n    def test_a(self):\n        self.assertExit(self.box.run('/bin/sleep', '1.5'), 0)\n"
	f := fixtureOf(source, "a")
	f.Limits.JudgeSeconds = 1
	if g := gradeWith(t, &hostBoxes{t: t}, f, candidateOf(right)); !g.Functional() {
		explain(t, g)
		t.Error("want functional")
	}
}

// A candidate that always uses its whole limit is stopped by the check's limit.
func TestCheckLimit(t *testing.T) {
	source := "from assay import kit\nclass T(kit.Case):\n    def test_a(self):\n        ends = [self.box.run('/bin/sleep', '9').limit for _ in range(20)]\n" +
		"        self.assertEqual(ends, [None] * 20)\n"
	f := fixtureOf(source, "a")
	f.Limits.Process.Wall = 20_000_000 // 20 ms
	g := gradeWith(t, &hostBoxes{t: t}, f, candidateOf(right))
	if !strings.Contains(g.Checks[0].Message, "check_limit") || len(g.Flags) != 1 || g.Flags[0] != bench.FlagTimeout {
		explain(t, g)
		t.Error("want check_limit and the flag timeout")
	}
}
