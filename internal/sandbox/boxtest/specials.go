package boxtest

import (
	"errors"
	"io"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"

	"github.com/google/go-cmp/cmp"
)

func (s suite) specials() tests {
	return tests{
		"FIFOs and sockets": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			p := server(t, b, python(`
import os, select, socket
os.mkfifo("fifo"); s = socket.socket(socket.AF_UNIX); s.bind("sock"); s.listen()
p = select.poll(); p.register(os.open("fifo", os.O_RDONLY | os.O_NONBLOCK)); p.register(s)
print("up", flush=True)
print("touched", p.poll(), flush=True)`), "up\n")
			begun := time.Now()
			for _, path := range []string{"fifo", "sock"} {
				var n *sandbox.NotRegularError
				if _, err := b.ReadFile(t.Context(), path, 10); !errors.As(err, &n) || n.Kind != "other" {
					t.Errorf("%s: %v", path, err)
				}
				write(t, b, path, "now a file", 0o644)
				if got, err := b.ReadFile(t.Context(), path, 100); err != nil || string(got) != "now a file" {
					t.Errorf("%s: %q %v", path, got, err)
				}
			}
			took(t, "work on a FIFO that somebody reads", begun, 5*time.Second)
			if err := b.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if out, err := io.ReadAll(p.Stdout()); err != nil || len(out) > 0 {
				t.Errorf("the candidate noticed: %q %v", out, err)
			}
		},
		"whiteout": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			made := mustRun(t, b, python("import os\ntry: os.mknod('node', 0o20666, 0); print('made')\nexcept OSError: print('refused')"))
			x, err := b.Export(t.Context(), bench.DefaultExportLimits())
			if err != nil || made == "made\n" && (len(x.Skipped) != 1 || x.Skipped[0].Reason != "device") {
				t.Errorf("%s%+v %v", made, x, err)
			}
		},
		"modes": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			mustRun(t, b, Shell(`
for m in 0000 0111 0200 0444 0644 0755 1755 2755 4755 6777 7000; do echo $m >f$m; chmod $m f$m; done
mkdir d0111 d1777 d2755; for d in d*; do echo x >$d/f; chmod ${d#d} $d; done`))
			x, err := b.Export(t.Context(), bench.DefaultExportLimits())
			if err != nil || x.Rejected != "" || len(x.Skipped) > 0 {
				t.Fatalf("%+v %v", x, err)
			}
			fresh := s.box(t, sandbox.Options{})
			if err := fresh.Reset(t.Context(), x.Tree); err != nil {
				t.Fatal(err)
			}
			wantRun(t, fresh, Shell("stat -c '%n %a' * d*/*"), `d0111 755
d1777 755
d2755 755
f0000 644
f0111 755
f0200 644
f0444 644
f0644 644
f0755 755
f1755 755
f2755 755
f4755 755
f6777 755
f7000 644
d0111/f 644
d1777/f 644
d2755/f 644
`)
		},
		"times": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			mustRun(t, b, Shell("mkdir d; echo a >d/old; echo b >new; touch -d 1970-01-01T00:00:00Z d/old; touch -d 2099-12-31T23:59:59Z new; touch -d 1970-01-01T00:00:00Z d"))
			x, err := b.Export(t.Context(), bench.DefaultExportLimits())
			want := mustTree(t, bench.File{Path: "d/old", Data: []byte("a\n")}, bench.File{Path: "new", Data: []byte("b\n")})
			if diff := cmp.Diff(bench.Export{Tree: want}, x); diff != "" || err != nil {
				t.Fatalf("%v (-want +got)\n%s", err, diff)
			}
			// Times are no part of a tree: what is laid is as old as its laying.
			if err := b.Reset(t.Context(), x.Tree); err != nil {
				t.Fatal(err)
			}
			wantRun(t, b, Shell("find d new ! -newermt '1 day ago'; find d new -newermt 'tomorrow'"), "")
		},
	}
}
