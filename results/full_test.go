package results

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"assay/internal/bench"
)

// noise does not compress.
func noise(n int) []byte {
	src := rand.NewChaCha8([32]byte{1})
	data := make([]byte, n)
	src.Read(data)
	return data
}

// fillUp writes until the database refuses and returns the refusal and how many
// responses went in before.
func fillUp(t *testing.T, s *Store, attempt int64) (n int, err error) {
	t.Helper()
	data := noise(64 << 10)
	for n = range 10000 {
		data[0], data[1] = byte(n), byte(n>>8)
		if err := s.AddResponse(t.Context(), attempt, 1, bench.Response{Raw: bytes.Clone(data)}, nil); err != nil {
			return n, err
		}
	}
	t.Fatal("it never got full")
	return 0, nil
}

func TestFullDatabase(t *testing.T) {
	path := dbPath(t)
	s, err := Open(t.Context(), path, Options{maxPages: 200})
	must(t, err)
	fullThenWhole(t, s, path)
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("SKIP full disk: a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "record.db")
	s, err := Open(t.Context(), path, Options{})
	must(t, err)
	fullThenWhole(t, s, path)

	must(t, os.WriteFile(filepath.Join(dir, "ballast"), nil, 0o644))
	ballast, err := os.OpenFile(filepath.Join(dir, "ballast"), os.O_WRONLY, 0)
	must(t, err)
	for err == nil {
		_, err = ballast.Write(make([]byte, 4096))
	}
	must(t, ballast.Close())
	_, err = Open(t.Context(), filepath.Join(dir, "new.db"), Options{})
	if !errors.Is(err, ErrDiskFull) {
		t.Errorf("a new database on a full disk: %v", err)
	}
	for _, name := range []string{"new.db", "new.db.new", "new.db.lock"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was left behind", name)
		}
	}
}

func fullThenWhole(t *testing.T, s *Store, path string) {
	t.Helper()
	p := plan(1)
	a := begin(t, s, cohortOf(t, s, p), p.Cells[0])
	n, err := fillUp(t, s, a)
	if !errors.Is(err, ErrDiskFull) {
		t.Fatalf("after %d responses: %v", n, err)
	}
	if err := s.Close(); err != nil && !errors.Is(err, ErrDiskFull) {
		t.Fatal(err)
	}
	r := openReader(t, path)
	rows, err := r.Responses(t.Context(), a)
	must(t, err)
	if len(rows) != n || n == 0 {
		t.Errorf("%d responses are there, %d were written", len(rows), n)
	}
	must(t, r.view(t.Context(), "check", func(ctx context.Context, q querier) error {
		var check string
		err := q.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&check)
		if check != "ok" {
			t.Errorf("%v %s", err, check)
		}
		return err
	}))
}
