package boxtest

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"
)

func (s suite) links() tests {
	return tests{
		"no link leads out": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			mustRun(t, b, Shell("ln -s /etc/passwd file; ln -s / root; ln -s ../tmp up; ln -s /proc/self/fd fd; ln -s /w abs; echo t >/tmp/t; mkdir d; ln -s ../.. d/deep"))
			var escape *sandbox.EscapeError
			for _, path := range []string{"file", "root/etc/passwd", "up/t", "fd/0", "abs/file", "d/deep/tmp/t", "../tmp/t", "/etc/passwd", ".."} {
				if got, err := b.ReadFile(t.Context(), path, 1<<20); !errors.As(err, &escape) {
					t.Errorf("read %s: %q %v", path, got, err)
				}
			}
			for _, path := range []string{"up/new", "up/t", "d/deep/tmp/new", "root/tmp/new", "abs/new", "../tmp/new"} {
				if err := b.WriteFile(t.Context(), path, []byte("x"), 0o644); !errors.As(err, &escape) {
					t.Errorf("write %s: %v", path, err)
				}
			}
			write(t, b, "up", "now a file", 0o644) // replaces the link itself
			if got := mustRun(t, b, Shell("cat /tmp/t; ls /tmp; cat up")); got != "t\nt\nnow a file" {
				t.Error(got)
			}
			for _, dir := range []string{"root", "..", "d/deep"} {
				if got, err := b.ListFiles(t.Context(), dir, 10); !errors.As(err, &escape) {
					t.Errorf("list %s: %v %v", dir, got, err)
				}
			}
		},
		"to secrets": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			mustRun(t, b, Shell(`
ln -s /proc/self/environ env; ln -s /proc/1/environ env1; ln -s /proc/self/root root; ln -s /proc/self/cwd cwd
ln -s / all; ln -s a b; ln -s b a; ln -s self/x self; ln -s "" none 2>/dev/null; ln -s . here; echo x >f`))
			var escape *sandbox.EscapeError
			for path, loop := range map[string]bool{
				"env": false, "env1": false, "root/etc/passwd": false, "cwd/f": false, "all/etc/passwd": false, "all/w/f": false,
				"a": true, "b": true, "self": true, "a/x": true,
			} {
				got, err := b.ReadFile(t.Context(), path, 1<<20)
				if loop && !errors.Is(err, syscall.ELOOP) || !loop && !errors.As(err, &escape) && !errors.Is(err, syscall.ELOOP) {
					t.Errorf("%s: %q %v", path, got, err)
				}
				if err := b.WriteFile(t.Context(), path+"/new", nil, 0o644); err == nil {
					t.Errorf("%s/new was written", path)
				}
				if _, err := b.ListFiles(t.Context(), path, 10); err == nil {
					t.Errorf("%s was listed", path)
				}
			}
			if got, err := b.ReadFile(t.Context(), "here/here/here/f", 10); err != nil || string(got) != "x\n" {
				t.Errorf("a link inside: %q %v", got, err)
			}
			x, err := b.Export(t.Context(), bench.DefaultExportLimits())
			if err != nil || x.Rejected != "" || len(x.Tree) != 1 || len(x.Skipped) != 9 {
				t.Errorf("%+v %v", x, err)
			}
		},
		"of candidates that swap them": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			server(t, b, python(`
import os
os.mkdir("real"); open("real/f", "w").write("inside")
os.mkdir("/tmp/out"); open("/tmp/out/f", "w").write("OUTSIDE")
print("up", flush=True)
while True:
    os.symlink("/tmp/out", "l"); os.rename("l", "d")
    os.symlink("real", "l"); os.rename("l", "d")`), "up\n")
			ctx := within(t, 10*time.Second)
			for range 300 {
				if got, err := b.ReadFile(ctx, "d/f", 100); err == nil && string(got) != "inside" {
					t.Fatalf("read %q", got)
				}
				_ = b.WriteFile(ctx, "d/new", []byte("x"), 0o644)
			}
			if err := b.Sweep(ctx); err != nil {
				t.Fatal(err)
			}
			wantRun(t, b, Shell("ls /tmp/out"), "f\n")
		},
		"hard": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			mustRun(t, b, Shell("echo one >a; ln a b; mkdir d; ln a d/c"))
			write(t, b, "a", "two\n", 0o644)
			wantRun(t, b, Shell("cat a b d/c"), "two\none\none\n")
			wantRun(t, b, Shell("ln /etc/passwd x 2>/dev/null || ln /usr/bin/id x 2>/dev/null || echo refused"), "refused\n")
		},
	}
}
