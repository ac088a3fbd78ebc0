package tasks_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"assay/internal/bench"
	"assay/tasks"
)

const goodSettings = `schema_version = "1.4"
[task]
name = "me/toy"
[metadata.assay]
size = "smoke"
entry = "toy.py"
protected = ["examples/*"]
`

// toy returns a small task without fault, with files replaced; "" removes one.
func toy(replace map[string]string) fstest.MapFS {
	files := map[string]string{
		"toy/task.toml":                        goodSettings,
		"toy/instruction.md":                   "# Toy\n\n1. **One.** Print 1.\n2. Exit with 0.\n",
		"toy/environment/Dockerfile":           "FROM scratch\n",
		"toy/environment/workspace/toy.py":     "raise SystemExit(1)\n",
		"toy/environment/workspace/examples/a": "1\n",
		"toy/solution/toy.py":                  "print(1)\n",
		"toy/solution/solve.sh":                "cp toy.py .\n",
	}
	for name, text := range replace {
		files[name] = text
	}
	fsys := fstest.MapFS{}
	for name, text := range files {
		if text != "" {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return fsys
}

func load(t *testing.T, fsys fstest.MapFS) *tasks.Source {
	t.Helper()
	s, err := tasks.Load(fsys, "toy")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLoad(t *testing.T) {
	s := load(t, toy(map[string]string{
		"toy/environment/workspace/run.sh":                        "echo\n",
		"toy/environment/workspace/__pycache__/toy.cpython.pyc":   "x",
		"toy/environment/workspace/examples/left-over.python.pyc": "x",
	}))
	want := tasks.Info{Name: "toy", Clauses: 2, Protected: []string{"examples/*"}, Size: "smoke", Entry: "toy.py"}
	if d := cmp.Diff(want, s.Info); d != "" {
		t.Error(d)
	}
	task, err := s.Render(bench.VariantFixed, 3)
	if err != nil {
		t.Fatal(err)
	}
	wantTree := bench.Tree{
		{Path: "examples/a", Data: []byte("1\n")},
		{Path: "run.sh", Exec: true, Data: []byte("echo\n")},
		{Path: "toy.py", Data: []byte("raise SystemExit(1)\n")},
	}
	if d := cmp.Diff(wantTree, task.Workspace); d != "" {
		t.Error(d)
	}
	wantTree[2].Data = []byte("print(1)\n")
	if d := cmp.Diff(wantTree, task.Reference); d != "" {
		t.Error("reference:", d)
	}
	if task.Seed != 0 {
		t.Errorf("seed %d of the fixed variant, want 0", task.Seed)
	}
}

func TestLoadListsAllFaults(t *testing.T) {
	fsys := toy(map[string]string{
		"toy/instruction.md": "# Toy\n\n1. One.\r\n3. Three.\n",
		"toy/task.toml": `schema_version = "9"
[task]
name = "me/other"
[metadata.assay]
size = "huge"
protected = ["nothing/*", "[", 4]
policy = 1
[metadata.assay.more]
x = 1
`,
		"toy/solution/solve.sh": "",
	})
	_, err := tasks.Load(fsys, "toy")
	want := strings.TrimSpace(`
toy/instruction.md:3: a carriage return; lines end in LF only
toy/instruction.md:4: clause 3 stands where clause 2 is expected
toy/solution/solve.sh: missing; it lays the reference over the workspace
toy/task.toml:1: schema_version "9" is not known; known are 1.0 to 1.4
toy/task.toml:3: task.name "me/other" does not end in the folder's name "toy"
toy/task.toml:4: metadata.assay.entry is missing
toy/task.toml:5: metadata.assay.size "huge" must be one of smoke, short, long
toy/task.toml:6: metadata.assay.protected must be a list of strings
toy/task.toml:7: unknown key metadata.assay.policy
toy/task.toml:8: unknown key metadata.assay.more
`)
	var faults tasks.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("error %T, want Faults", err)
	}
	if d := cmp.Diff(want, err.Error()); d != "" {
		t.Error(d)
	}
}

func TestLoadRefuses(t *testing.T) {
	big := strings.Repeat("x", 1<<20+1)
	many := map[string]string{}
	for i := range 9 {
		many["toy/environment/workspace/data"+string(rune('a'+i))] = big[1:]
	}
	for _, c := range []struct {
		name    string
		replace map[string]string
		want    string
	}{
		{"not UTF-8", map[string]string{"toy/instruction.md": "1. One.\n2. caf\xe9\n"}, "toy/instruction.md:2: not valid UTF-8"},
		{"NUL", map[string]string{"toy/instruction.md": "1. One.\n\n\x00\n"}, "toy/instruction.md:3: a NUL byte"},
		{"empty", map[string]string{"toy/instruction.md": " \n"}, "toy/instruction.md: empty"},
		{"missing", map[string]string{"toy/instruction.md": ""}, "toy/instruction.md: missing"},
		{"no clause", map[string]string{"toy/instruction.md": "Do it.\n"}, "toy/instruction.md: no numbered clause; checks need clauses to refer to"},
		{"long", map[string]string{"toy/instruction.md": "1. " + big[:64<<10]}, "toy/instruction.md: 65539 bytes, the limit is 65536"},
		{"large file", map[string]string{"toy/environment/workspace/data": big}, "toy/environment/workspace/data: 1048577 bytes, the limit of one file is 1048576"},
		{"large workspace", many, "toy/environment/workspace: over the limit of 2000 files and 8388608 bytes at toy/environment/workspace/datai"},
		{"no TOML", map[string]string{"toy/task.toml": "schema_version = \"1.4\"\nx = = 1\n"}, "toy/task.toml:2: "},
		{"key twice", map[string]string{"toy/task.toml": "a = 1\na = 2\n"}, "toy/task.toml:2: "},
		{"no table of ours", map[string]string{"toy/task.toml": "schema_version = \"1.4\"\n[task]\nname = \"toy\"\n"}, "toy/task.toml: metadata is missing"},
		{"no workspace", map[string]string{"toy/environment/workspace/toy.py": "", "toy/environment/workspace/examples/a": ""}, "toy/environment/workspace: no file; a task starts from at least a stub"},
		{"pattern", map[string]string{"toy/task.toml": strings.Replace(goodSettings, "examples/*", "[", 1)}, `toy/task.toml:7: metadata.assay.protected: "[" is not a pattern: `},
		{"protects nothing", map[string]string{"toy/task.toml": strings.Replace(goodSettings, "examples/*", "tests/*", 1)}, `toy/task.toml:7: metadata.assay.protected: "tests/*" matches no file of the workspace`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := tasks.Load(toy(c.replace), "toy")
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v\nwant this one only: %q", err, c.want)
			}
		})
	}
	for _, name := range []string{"absent", "../toy", "", "Toy"} {
		if _, err := tasks.Load(toy(nil), name); err == nil {
			t.Errorf("a task named %q was loaded", name)
		}
	}
}

func TestLoadRefusesLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, toy(nil)); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"environment/workspace/out", "environment/workspace/dir", "solution/link.py"} {
		target := secret
		if strings.HasSuffix(name, "dir") {
			target = filepath.Dir(secret)
		}
		if err := os.Symlink(target, filepath.Join(dir, "toy", name)); err != nil {
			t.Fatal(err)
		}
	}
	instruction := filepath.Join(dir, "toy/instruction.md")
	if err := errors.Join(os.Remove(instruction), os.Symlink(secret, instruction)); err != nil {
		t.Fatal(err)
	}
	_, err := tasks.Load(os.DirFS(dir), "toy")
	want := strings.TrimSpace(`
toy/environment/workspace/dir: a symbolic link; only regular files are allowed
toy/environment/workspace/out: a symbolic link; only regular files are allowed
toy/instruction.md: a symbolic link; only regular files are allowed
toy/solution/link.py: a symbolic link; only regular files are allowed
`)
	if err == nil {
		t.Fatal("links were followed")
	}
	if d := cmp.Diff(want, err.Error()); d != "" {
		t.Error(d)
	}
}

func TestForeignKeysAreWarnings(t *testing.T) {
	s := load(t, toy(map[string]string{"toy/task.toml": goodSettings + `
[metadata]
author = "x"
[environment]
cpus = 1
colour = "red"
[oracle]
x = 1
`}))
	var got []string
	for _, w := range s.Warnings {
		got = append(got, w.String())
	}
	want := []string{
		"toy/task.toml:13: key environment.colour is not known; it is kept and not used",
		"toy/task.toml:14: key oracle is not known; it is kept and not used",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestDigestIsOfWhatTheModelSees(t *testing.T) {
	digest := func(replace map[string]string) string {
		task, err := load(t, toy(replace)).Render(bench.VariantFixed, 1)
		if err != nil {
			t.Fatal(err)
		}
		return task.Digest
	}
	base := digest(nil)
	for name, c := range map[string]struct {
		replace map[string]string
		same    bool
	}{
		"instruction": {map[string]string{"toy/instruction.md": "1. Print 2.\n"}, false},
		"workspace":   {map[string]string{"toy/environment/workspace/toy.py": "\n"}, false},
		"solution":    {map[string]string{"toy/solution/toy.py": "print('1')\n"}, true},
		"Dockerfile":  {map[string]string{"toy/environment/Dockerfile": "FROM x\n"}, true},
	} {
		if got := digest(c.replace); (got == base) != c.same {
			t.Errorf("%s changed: digest same %v, want %v", name, got == base, c.same)
		}
	}
}
