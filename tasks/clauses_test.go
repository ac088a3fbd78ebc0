package tasks_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/bench"
	"assay/tasks"
)

func TestClauses(t *testing.T) {
	got := tasks.Clauses("# A\n1. **First.** a\n   b\n\n   c\n\n```\n2. not one\n```\n    2. nor this\n## B\nplain\n2. second\n10.5 is no clause\n")
	want := []tasks.Clause{
		{ID: "1", Line: 2, Text: "**First.** a b c ``` 2. not one ``` 2. nor this"},
		{ID: "2", Line: 13, Text: "second 10.5 is no clause"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func FuzzClauses(f *testing.F) {
	f.Add("1. a\n2. b\n```\n3. c\n")
	f.Add("# x\n\n 1. a\n")
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		for _, c := range tasks.Clauses(text) {
			if c.Line <= last || c.Line > 1+strings.Count(text, "\n") || c.ID == "" {
				t.Fatalf("clause %q at line %d after line %d", c.ID, c.Line, last)
			}
			last = c.Line
		}
	})
}

func TestTouched(t *testing.T) {
	file := func(path, text string) bench.File { return bench.File{Path: path, Data: []byte(text)} }
	task := bench.Task{
		Protected: []string{"examples/*", "tests/**"},
		Workspace: bench.Tree{file("a.py", "1"), file("examples/a", "1"), file("examples/b", "1"), file("examples/deep/c", "1"), file("tests/x/y", "1")},
	}
	tree := bench.Tree{file("a.py", "2"), file("examples/a", "1"), file("examples/b", "2"), file("examples/new", "1")}
	if d := cmp.Diff([]string{"examples/b", "tests/x/y"}, tasks.Touched(task, tree)); d != "" {
		t.Error(d)
	}
	if got := tasks.Touched(task, task.Workspace); got != nil {
		t.Errorf("an untouched workspace has %v touched", got)
	}
}
