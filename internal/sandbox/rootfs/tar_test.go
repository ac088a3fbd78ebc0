package rootfs

import (
	"archive/tar"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func archive(t *testing.T, root string, extra Extra) ([]byte, error) {
	t.Helper()
	var b bytes.Buffer
	err := WriteTar(t.Context(), &b, root, extra)
	return b.Bytes(), err
}

func TestWriteTar(t *testing.T) {
	t.Parallel()
	cache, id := tree(t)
	root := treePath(cache, id)
	old := time.Unix(1_600_000_000, 123)
	if err := os.Chtimes(root+"/usr/bin/python3", old, old); err != nil {
		t.Fatal(err)
	}
	b, err := archive(t, root, Extra{
		Dirs:   map[string]fs.FileMode{"tmp": 0o777 | fs.ModeSticky, "usr": 0o700, "etc": 0o755},
		Append: map[string]string{"etc/passwd": "box\n", "usr/bin/python3": " and more"},
	})
	if err != nil {
		t.Fatal(err)
	}
	type entry struct {
		Name, Link, Text string
		Kind             byte
		Mode, Time       int64
		UID              int
	}
	var got []entry
	for r := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, entry{h.Name, h.Linkname, string(text), h.Typeflag, h.Mode, h.ModTime.Unix(), h.Uid + h.Gid})
	}
	want := []entry{
		{"bin", "usr/bin", "", tar.TypeSymlink, 0o777, Epoch, 0},
		{"usr/", "", "", tar.TypeDir, 0o755, Epoch, 0},
		{"usr/bin/", "", "", tar.TypeDir, 0o755, Epoch, 0},
		{"usr/bin/python3", "", "program and more", tar.TypeReg, 0o755, 1_600_000_000, 0},
		{"etc/", "", "", tar.TypeDir, 0o755, Epoch, 0},
		{"tmp/", "", "", tar.TypeDir, 0o1777, Epoch, 0},
		{"etc/passwd", "", "box\n", tar.TypeReg, 0o644, Epoch, 0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWriteTarDependsOnContentAlone(t *testing.T) {
	t.Parallel()
	cacheA, id := tree(t)
	cacheB, _ := tree(t)
	later := time.Now().Add(time.Hour)
	for _, name := range []string{"usr", "usr/bin", "usr/bin/python3"} {
		if err := os.Chtimes(filepath.Join(treePath(cacheB, id), name), later, later); err != nil {
			t.Fatal(err)
		}
	}
	a, errA := archive(t, treePath(cacheA, id), Extra{})
	b, errB := archive(t, treePath(cacheB, id), Extra{})
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Error(errA, errB, "the time of building counts")
	}
	if err := syscall.Mkfifo(treePath(cacheB, id)+"/pipe", 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := archive(t, treePath(cacheB, id), Extra{}); err == nil {
		t.Error("a pipe is archived")
	}
}
