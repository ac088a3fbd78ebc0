package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// allowed is the import table of docs/architecture.md: which packages of ours a
// package may import. A name that ends in "/..." covers the packages below it.
var allowed = map[string][]string{
	"internal/bench":     {},
	"internal/wire":      {"internal/bench"},
	"internal/config":    {"internal/bench"},
	"internal/telemetry": {"internal/bench"},
	"internal/doctor":    {"internal/bench"},
	"internal/stats":     {"internal/bench"},
	"tasks":              {"internal/bench"},
	"agent":              {"internal/bench"},
	"results":            {"internal/bench"},
	"fixtures":           {"tasks", "internal/bench"},
	"internal/sandbox":   {"internal/sandbox/...", "internal/bench"},
	"internal/engine":    {"internal/engine/...", "internal/wire", "internal/bench"},
	"internal/load":      {"internal/wire", "internal/bench"},
	"internal/fidelity":  {"internal/wire", "internal/bench"},
	"internal/longctx":   {"internal/wire", "grader", "internal/bench"},
	"internal/plan":      {"internal/config", "internal/stats", "internal/bench"},
	"grader":             {"fixtures", "internal/bench"},
	"internal/gate":      {"grader", "fixtures", "tasks", "internal/stats", "internal/bench"},
	"regrade":            {"grader", "fixtures", "tasks", "internal/bench"},
	"internal/runner":    {"internal/plan", "agent", "grader", "tasks", "fixtures", "internal/bench"},
	"internal/report":    {"internal/stats", "internal/bench"},
	"internal/web":       {"internal/report", "internal/bench"},
}

// onlyImporter says which packages alone may import a library.
var onlyImporter = map[string]string{
	"modernc.org/sqlite":                          "results",
	"gonum.org/v1/gonum/stat":                     "internal/stats",
	"github.com/testcontainers/testcontainers-go": "internal/sandbox",
	"github.com/sashabaranov/go-openai":           "internal/engine",
	"github.com/spf13/cobra":                      "cmd/assay",
}

type listed struct {
	ImportPath string
	Imports    []string
}

func goList(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	var pkgs []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// room is the row of the table that a package belongs to: itself, or the
// longest row above it.
func room(pkg string) string {
	for {
		if _, ok := allowed[pkg]; ok {
			return pkg
		}
		i := strings.LastIndex(pkg, "/")
		if i < 0 {
			return ""
		}
		pkg = pkg[:i]
	}
}

func covers(pattern, pkg string) bool {
	if dir, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == dir || strings.HasPrefix(pkg, dir+"/")
	}
	return pkg == pattern
}

func TestImportTable(t *testing.T) {
	const module = "assay/"
	pkgs := goList(t)
	if len(pkgs) < 10 {
		t.Fatalf("go list found %d packages: the test looks at the wrong folder", len(pkgs))
	}
	for _, p := range pkgs {
		pkg := strings.TrimPrefix(p.ImportPath, module)
		row := room(pkg)
		if row == "" && pkg != "cmd/assay" {
			t.Errorf("package %s is in no row of the import table", pkg)
			continue
		}
		for _, imp := range p.Imports {
			ours := strings.TrimPrefix(imp, module)
			if ours != imp && pkg != "cmd/assay" && !slices.ContainsFunc(allowed[row], func(pattern string) bool { return covers(pattern, ours) }) {
				t.Errorf("%s imports %s, which its row (%s) does not allow", pkg, ours, row)
			}
			for lib, owner := range onlyImporter {
				if (imp == lib || strings.HasPrefix(imp, lib+"/")) && pkg != owner && !strings.HasPrefix(pkg, owner+"/") {
					t.Errorf("%s imports %s: only %s may", pkg, lib, owner)
				}
			}
			if pkg == "internal/bench" && strings.Contains(imp, ".") {
				t.Errorf("bench imports %s: it may use the standard library only", imp)
			}
		}
	}
}
