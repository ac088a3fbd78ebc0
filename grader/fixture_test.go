package grader

import (
	"context"
	"testing"
	"time"

	"assay/internal/bench"
)

// acceptance judges "solve": `solve.py` prints twice the integer on its standard
// input and ends with 2 on anything else; solve.f does the same in Python.
const acceptance = `
from assay import kit

class Command(kit.Case):
    def test_cli_doubles(self):
        r = self.box.run("solve.py", stdin="21\n")
        self.assertExit(r, 0)
        self.assertEqual(r.out, "42\n")

    def test_cli_refuses(self):
        r = self.box.run("solve.py", stdin="x\n")
        self.assertExit(r, 2)
        self.assertIn("x", r.err)

class Module(kit.Case):
    module = "solve"

    def test_api_doubles(self):
        self.assertEqual(self.m.f(2), 4)
        self.assertEqual([self.m.f(x) for x in (0, -7, 10**30)], [0, -14, 2 * 10**30])

    def test_api_lists(self):
        self.assertEqual(self.m.f([1, 2.5, "a"]), [2, 5.0, "aa"])

    def test_api_refuses(self):
        with self.assertRaises(ValueError) as e:
            self.m.f(None)
        self.assertIn("None", str(e.exception))

    def test_api_counts(self):
        c = self.m.Counter()
        c.add("a"); c.add("b")
        self.assertEqual(len(c), 2)
        self.assertEqual(list(c), ["a", "b"])
        with self.assertRaises(self.m.Full):
            c.add("c")
`

const right = `
import sys

class Full(KeyError):
    pass

class Counter:
    def __init__(self):
        self.items = []
    def add(self, x):
        if len(self.items) == 2:
            raise Full(x)
        self.items.append(x)
    def __len__(self):
        return len(self.items)
    def __iter__(self):
        return iter(self.items)

def f(x):
    if x is None:
        raise ValueError("None cannot be doubled")
    if isinstance(x, list):
        return [f(v) for v in x]
    return x + x

if __name__ == "__main__":
    text = sys.stdin.read().strip()
    try:
        n = int(text)
    except ValueError:
        print("not a number: " + text, file=sys.stderr)
        sys.exit(2)
    print(f(n))
`

var solveIDs = []string{"cli_doubles", "cli_refuses", "api_doubles", "api_lists", "api_refuses", "api_counts"}

func solveTask() bench.Task {
	return bench.Task{Name: "solve", Reference: bench.Tree{{Path: "solve.py", Data: []byte(right)}}}
}

func fixtureOf(source string, ids ...string) bench.Fixture {
	f := bench.Fixture{
		Task: "solve", Version: "v0", Digest: "d", Acceptance: []byte(source),
		Limits: bench.FixtureLimits{
			Process:      bench.ProcessLimits{Wall: 5 * time.Second, OutputBytes: 1 << 20},
			JudgeSeconds: 30,
		},
	}
	for _, id := range ids {
		f.Checks = append(f.Checks, bench.CheckSpec{ID: id})
	}
	return f
}

func candidateOf(source string) bench.Candidate {
	return bench.NewCandidate(bench.Export{Tree: bench.Tree{{Path: "solve.py", Data: []byte(source)}}})
}

func gradeWith(t *testing.T, b Boxes, f bench.Fixture, c bench.Candidate) bench.Grading {
	t.Helper()
	g := New(b, Options{})
	defer func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := g.Grade(ctx, solveTask(), f, c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// statuses maps ids to verdicts.
func statuses(g bench.Grading) map[string]bench.CheckStatus {
	m := map[string]bench.CheckStatus{}
	for _, c := range g.Checks {
		m[c.ID] = c.Status
	}
	return m
}

func explain(t *testing.T, g bench.Grading) {
	t.Helper()
	t.Logf("complete %v, flags %v, fault %q", g.Complete, g.Flags, g.Fault)
	for _, c := range g.Checks {
		t.Logf("%s %s %v %s\n%s", c.ID, c.Status, c.Flags, c.Elapsed, c.Message)
	}
}
