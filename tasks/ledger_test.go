package tasks_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/bench"
	"assay/tasks"
)

func ledger(t *testing.T) bench.Task {
	t.Helper()
	task, err := tasks.Render("ledger", bench.VariantFixed, 1)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func TestEveryBuiltinLoads(t *testing.T) {
	if !slices.Contains(tasks.Names(), "ledger") {
		t.Fatalf("names %v lack ledger", tasks.Names())
	}
	for _, name := range tasks.Names() {
		s, err := tasks.Open(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(s.Warnings) > 0 {
			t.Errorf("%s: %v", name, s.Warnings)
		}
		if _, err := s.Render(bench.VariantFixed, 1); err != nil {
			t.Error(err)
		}
	}
}

func TestEmbeddedEqualsFolder(t *testing.T) {
	s, err := tasks.Load(os.DirFS("."), "ledger")
	if err != nil {
		t.Fatal(err)
	}
	task, err := s.Render(bench.VariantFixed, 1)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(ledger(t), task); d != "" {
		t.Error(d)
	}
}

func TestUnknownTask(t *testing.T) {
	_, err := tasks.Render("wallets", bench.VariantFixed, 1)
	var unknown *tasks.UnknownTaskError
	if !errors.As(err, &unknown) || unknown.Name != "wallets" {
		t.Errorf("error %v, want an UnknownTaskError", err)
	}
	if _, err := tasks.Describe("wallets"); !errors.As(err, &unknown) {
		t.Errorf("Describe: error %v, want an UnknownTaskError", err)
	}
}

func TestLedgerInfo(t *testing.T) {
	info, err := tasks.Describe("ledger")
	if err != nil {
		t.Fatal(err)
	}
	info.Description = ""
	want := tasks.Info{Name: "ledger", Clauses: 13, Protected: []string{"examples/*"}, Size: "short", Entry: "ledger.py"}
	if d := cmp.Diff(want, info); d != "" {
		t.Error(d)
	}
}

// The examples stand in the instruction and in the workspace; they must not drift apart.
func TestLedgerExamplesAgree(t *testing.T) {
	task := ledger(t)
	shop, ok := task.Workspace.Get("examples/shop.csv")
	if !ok {
		t.Fatal("no examples/shop.csv")
	}
	smoke, ok := task.Workspace.Get("examples/smoke.py")
	if !ok {
		t.Fatal("no examples/smoke.py")
	}
	for line := range strings.Lines(string(shop.Data)) {
		if !strings.Contains(task.Instruction, "    "+line) {
			t.Errorf("the instruction lacks the line %q of shop.csv", line)
		}
	}
	expected := 0
	_, examples, _ := strings.Cut(task.Instruction, "## Examples")
	for line := range strings.Lines(examples) {
		if !strings.HasPrefix(line, "    ") || !strings.Contains(line, "<TAB>") {
			continue
		}
		expected++
		want := strings.ReplaceAll(strings.TrimSpace(line), "<TAB>", `\t`) + `\n`
		if !strings.Contains(string(smoke.Data), want) {
			t.Errorf("smoke.py does not expect %s", want)
		}
	}
	if expected != 7 {
		t.Errorf("the instruction shows %d lines of output, want 7", expected)
	}
}
