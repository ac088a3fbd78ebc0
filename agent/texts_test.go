package agent

import (
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
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
