package agent

import (
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The scaffold digest covers prompt, schemas and numbers; the sentences of tool
// answers are covered by its version. So a text of this package that changes must
// come with a new scaffoldVersion: two scaffolds are not comparable.
func TestTextsAndVersion(t *testing.T) {
	got := fmt.Sprintf("scaffold %d\ntexts %x\n", scaffoldVersion, sha256.Sum256([]byte(texts(t))))
	golden := filepath.Join("testdata", "texts.golden")
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) == got {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") != "" && !strings.HasPrefix(string(want), fmt.Sprintf("scaffold %d\n", scaffoldVersion)) {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("a text of the loop changed: raise scaffoldVersion, then run this test with UPDATE_GOLDEN=1\nhave %swant %s", got, want)
}

// Every number and text of rules.go is part of the scaffold under its own name.
func TestScaffoldNamesEveryRule(t *testing.T) {
	_, scaffold := Scaffold()
	f, err := parser.ParseFile(token.NewFileSet(), "rules.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	upper := regexp.MustCompile(`[A-Z]+[a-z]*`)
	seen := 0
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, name := range spec.Names {
			seen++
			snake := upper.ReplaceAllStringFunc(strings.TrimSuffix(name.Name, "Text"), func(s string) string {
				if len(s) > 2 && s[:2] == "ID" {
					return "_id_" + strings.ToLower(s[2:])
				}
				return "_" + strings.ToLower(s)
			})
			switch name.Name {
			case "scaffoldVersion", "systemPrompt": // have places of their own
				continue
			}
			if !strings.Contains(string(scaffold), "\n"+snake+" = ") {
				t.Errorf("the scaffold does not hold %s as %s", name.Name, snake)
			}
		}
		return true
	})
	if seen < 30 {
		t.Errorf("only %d rules found", seen)
	}
}

// texts are the string literals of the package that are not imports, in order.
func texts(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					b.WriteString(n.Value + "\n")
				}
			}
			return true
		})
	}
	if b.Len() < 5000 {
		t.Fatalf("only %d bytes of texts found", b.Len())
	}
	return b.String()
}
