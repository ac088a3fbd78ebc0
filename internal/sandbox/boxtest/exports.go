package boxtest

import (
	"strings"
	"testing"

	"assay/internal/bench"
	"assay/internal/sandbox"

	"github.com/google/go-cmp/cmp"
)

func (s suite) exports() map[string]func(*testing.T) {
	export := func(t *testing.T, source string, limits bench.ExportLimits) bench.Export {
		t.Helper()
		b := s.box(t, sandbox.Options{})
		mustRun(t, b, python("import os, socket\n"+source))
		x, err := b.Export(t.Context(), limits)
		if err != nil {
			t.Fatal(err)
		}
		healthy(t, b)
		return x
	}
	tests := map[string]func(*testing.T){
		"what is taken": func(t *testing.T) {
			x := export(t, `
os.makedirs("p/__pycache__"); os.makedirs(".git/objects"); os.makedirs("q/.git")
open("p/__pycache__/m.pyc", "w"); open("m.pyc", "w"); open(".git/objects/x", "w")
open("p/m.py", "w").write("code"); open("run", "w").write("r"); os.chmod("run", 0o4711)
open("hard", "w").write("h"); os.link("hard", "p/hard2")
open("null\u00e9", "wb").write(b"\0\xff")
os.symlink("/etc/passwd", "link"); os.symlink(".", "loop"); os.mkfifo("fifo"); socket.socket(socket.AF_UNIX).bind("sock")
open("shut", "w").write("s"); os.chmod("shut", 0); os.makedirs("shutdir/in"); open("shutdir/in/f", "w").write("f"); os.chmod("shutdir", 0o111)
os.mkdir("empty")
os.chmod("/w", 0o111)
if os.fork() == 0:
    while True: pass`, bench.DefaultExportLimits())
			want := bench.Export{
				Tree: bench.Tree{
					{Path: "hard", Data: []byte("h")}, {Path: "nullé", Data: []byte("\x00\xff")}, {Path: "p/hard2", Data: []byte("h")},
					{Path: "p/m.py", Data: []byte("code")}, {Path: "run", Exec: true, Data: []byte("r")}, {Path: "shut", Data: []byte("s")},
					{Path: "shutdir/in/f", Data: []byte("f")},
				},
				Skipped: []bench.Skipped{
					{Path: ".git", Reason: "git"}, {Path: "fifo", Reason: "fifo"}, {Path: "link", Reason: "symlink"}, {Path: "loop", Reason: "symlink"},
					{Path: "m.pyc", Reason: "bytecode"}, {Path: "p/__pycache__", Reason: "bytecode"}, {Path: "q/.git", Reason: "git"}, {Path: "sock", Reason: "socket"},
				},
			}
			if diff := cmp.Diff(want, x); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		},
		"empty": func(t *testing.T) {
			if x := export(t, "", bench.DefaultExportLimits()); len(x.Tree) != 0 || x.Rejected != "" || len(x.Skipped) != 0 {
				t.Errorf("%+v", x)
			}
		},
	}
	small := bench.ExportLimits{Files: 3, FileBytes: 1000, Bytes: 2000, Depth: 3, PathBytes: 40}
	for name, c := range map[string]struct {
		source string
		names  []string // what the rejection must name; none: accepted
	}{
		"at every cap":     {"os.makedirs('a/b')\nfor n in ('a/b/'+'x'*36, 'u'): open(n,'w').write('y'*1000)\nopen('v','w')", nil},
		"too many files":   {"for i in range(4): open(f'f{i}','w')", []string{"3 files", "f3"}},
		"file too large":   {"open('big','w').write('y'*1001)", []string{"1001", "1000", "big"}},
		"sparse":           {"open('holes','w').truncate(5<<30)", []string{"5368709120", "sparse", "holes"}},
		"too much":         {"for i in range(3): open(f'f{i}','w').write('y'*900)", []string{"2700", "2000", "f2"}},
		"too deep":         {"os.makedirs('a/b/c/d')", []string{"3 levels", "a/b/c/d"}},
		"path too long":    {"open('x'*41,'w')", []string{"41", "40", "xxxxx"}},
		"not UTF-8":        {"open(b'a\\xff','w')", []string{"UTF-8", `"a\xff"`}},
		"control bytes":    {"os.mkdir('a\\x1b[2J')", []string{"UTF-8", `"a\x1b[2J"`}},
		"too many entries": {"for i in range(400):\n os.mkdir(f'd{i}')\n for j in range(50): os.mkdir(f'd{i}/{j}')", []string{"20000 entries"}},
		"too many links":   {"for i in range(19000): os.symlink('x', '<'*30 + str(i))", []string{"bytes of paths"}},
	} {
		tests[name] = func(t *testing.T) {
			x := export(t, c.source, small)
			if len(c.names) == 0 {
				if x.Rejected != "" || len(x.Tree) != 3 {
					t.Errorf("rejected: %s, %d files", x.Rejected, len(x.Tree))
				}
				return
			}
			if len(x.Tree) != 0 {
				t.Errorf("rejected and still %d files", len(x.Tree))
			}
			for _, n := range c.names {
				if !strings.Contains(x.Rejected, n) {
					t.Errorf("%q does not name %q", x.Rejected, n)
				}
			}
		}
	}
	return tests
}
