package boxtest

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"assay/internal/bench"
	"assay/internal/sandbox"

	"github.com/google/go-cmp/cmp"
)

func (s suite) files() tests {
	return tests{
		"put": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			write(t, b, "a/x", "old", 0o600)
			write(t, b, "stays", "s", 0o644)
			tree := bench.Tree{{Path: "a/x", Data: []byte("new\x00\xff")}, {Path: "b/c/run.sh", Exec: true, Data: []byte("#!/bin/sh\necho ran")}, {Path: "empty"}}
			if err := b.Put(t.Context(), tree); err != nil {
				t.Fatal(err)
			}
			got := mustRun(t, b, Shell("stat -c '%n %a %s' a a/x b/c/run.sh empty stays; b/c/run.sh"))
			if got != "a 755 0\na/x 644 5\nb/c/run.sh 755 18\nempty 644 0\nstays 644 1\nran\n" &&
				!strings.HasSuffix(got, "a/x 644 5\nb/c/run.sh 755 18\nempty 644 0\nstays 644 1\nran\n") {
				t.Error(got)
			}
			if err := b.Put(t.Context(), bench.Tree{{Path: "../out"}}); err == nil {
				t.Error("a file was put outside")
			}
		},
		"write and read": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			write(t, b, "d/e/f.txt", "one", 0o640)
			write(t, b, "./d//e/f.txt", "two", 0o600)
			got, err := b.ReadFile(t.Context(), "d/e/../e/f.txt", 3)
			if err != nil || string(got) != "two" {
				t.Errorf("%q %v", got, err)
			}
			write(t, b, "none", "", 0o000)
			write(t, b, "dir", "", fs.ModeDir|0o555)
			write(t, b, "link", "d/e/f.txt", fs.ModeSymlink)
			write(t, b, "link2", "/etc/passwd", fs.ModeSymlink)
			out := mustRun(t, b, Shell("stat -c '%n %a %F' d/e/f.txt none dir; readlink link link2"))
			want := "d/e/f.txt 600 regular file\nnone 0 regular empty file\ndir 555 directory\nd/e/f.txt\n/etc/passwd\n"
			if diff := cmp.Diff(want, out); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got, err := b.ReadFile(t.Context(), "link", 100); err != nil || string(got) != "two" {
				t.Errorf("link inside: %q %v", got, err)
			}
			// Each kind replaces each other kind.
			for _, mode := range []fs.FileMode{0o644, fs.ModeDir | 0o755, fs.ModeSymlink, fs.ModeDir | 0o700, 0o600, fs.ModeSymlink, 0o644} {
				write(t, b, "same", "x", mode)
				if mode.IsDir() {
					write(t, b, "same/below", "x", 0o644)
				}
			}
		},
		"read errors": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			mustRun(t, b, Shell("mkdir d; mkfifo fifo; echo secret >shut; chmod 0 shut; head -c 1000 /dev/zero >big; ln -s loop loop; ln -s /dev/zero zero; ln -s fifo tofifo"))
			var large *sandbox.TooLargeError
			if _, err := b.ReadFile(t.Context(), "big", 999); !errors.As(err, &large) || large.Size != 1000 || large.Max != 999 {
				t.Errorf("too large: %v", err)
			}
			for path, want := range map[string]error{
				"absent": fs.ErrNotExist, "d/absent": fs.ErrNotExist, "shut": fs.ErrPermission, "big/x": syscall.ENOTDIR, "loop": syscall.ELOOP, "": fs.ErrInvalid,
			} {
				_, err := b.ReadFile(t.Context(), path, 100)
				var pe *fs.PathError
				if !errors.Is(err, want) || !errors.As(err, &pe) || pe.Path != path {
					t.Errorf("%q: %v, want %v", path, err, want)
				}
			}
			for _, path := range []string{"d", "fifo", "tofifo"} {
				var n *sandbox.NotRegularError
				if _, err := b.ReadFile(t.Context(), path, 100); !errors.As(err, &n) {
					t.Errorf("%q: %v", path, err)
				}
			}
		},
		"list": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			mustRun(t, b, python("import os\nos.makedirs('b/c'); open('b/c/x','w').write('12345'); open('b-','w'); os.symlink('b','l'); os.mkfifo('p'); open(b'\\xff\\n','w'); os.mkdir('shut', 0)"))
			got, err := b.ListFiles(t.Context(), "", 100)
			if err != nil {
				t.Fatal(err)
			}
			want := []bench.DirEntry{
				{Path: "b", Kind: "dir"}, {Path: "b-", Kind: "file"}, {Path: "b/c", Kind: "dir"}, {Path: "b/c/x", Kind: "file", Size: 5},
				{Path: "l", Kind: "symlink"}, {Path: "p", Kind: "other"}, {Path: "shut", Kind: "dir"}, {Path: `"\xff\n"`, Kind: "file"},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			got, err = b.ListFiles(t.Context(), "b", 1)
			if diff := cmp.Diff([]bench.DirEntry{{Path: "b/c", Kind: "dir"}, {Kind: "truncated"}}, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
			if _, err := b.ListFiles(t.Context(), "absent", 1); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("absent: %v", err)
			}
			if got, err := b.ListFiles(t.Context(), "b/c", 10); err != nil || len(got) != 1 {
				t.Errorf("%v %v", got, err)
			}
		},
	}
}
