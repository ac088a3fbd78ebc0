package boxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"

	"github.com/google/go-cmp/cmp"
)

func (s suite) exported(t *testing.T, source string, limits bench.ExportLimits) bench.Export {
	t.Helper()
	b := s.box(t, sandbox.Options{Inodes: 50_000})
	mustRun(t, b, python("import os, socket\n"+source))
	x, err := b.Export(t.Context(), limits)
	if err != nil {
		t.Fatal(err)
	}
	healthy(t, b)
	return x
}

func (s suite) exports() tests {
	export := s.exported
	return tests{
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
		"cancelled": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			mustRun(t, b, python("import os\nfor i in range(300): open(f'f{i:03}', 'w').write('x' * 4096)"))
			for i := range 6 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*500*time.Microsecond)
				x, err := b.Export(ctx, bench.DefaultExportLimits())
				if err == nil && len(x.Tree) != 300 || err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%d files, %v", len(x.Tree), err)
				}
				cancel()
				// An export that nobody waits for is still done, and sweeps when it is: it
				// must not end what is started after it.
				wantRun(t, b, Shell("sleep 0.05; echo alive"), "alive\n")
			}
			for range 3 {
				if x, err := b.Export(t.Context(), bench.DefaultExportLimits()); err != nil || len(x.Tree) != 300 || x.Tree.Size() != 300*4096 {
					t.Errorf("%d files of %d bytes, %v", len(x.Tree), x.Tree.Size(), err)
				}
			}
			healthy(t, b)
		},
		"laid and taken again": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			var files []bench.File
			for i := range 300 {
				files = append(files, bench.File{Path: fmt.Sprintf("d%d/e/f%d", i%7, i), Exec: i%3 == 0, Data: bytes.Repeat([]byte{byte(i)}, i*11)})
			}
			want := mustTree(t, files...)
			for range 2 {
				if err := b.Reset(t.Context(), want); err != nil {
					t.Fatal(err)
				}
				x, err := b.Export(t.Context(), bench.DefaultExportLimits())
				if err != nil || x.Rejected != "" || len(x.Skipped) > 0 || x.Tree.Digest() != want.Digest() {
					t.Errorf("%d files, rejected %q, skipped %v, %v", len(x.Tree), x.Rejected, x.Skipped, err)
				}
			}
		},
	}
}
