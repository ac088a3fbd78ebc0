package results

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestReaderOnReadOnlyMedium(t *testing.T) {
	data, err := os.ReadFile(filled(t))
	must(t, err)
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("SKIP read-only medium: no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "record.db")
	must(t, os.WriteFile(path, data, 0o644))
	must(t, syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	views, err := openReader(t, path).Cohorts(t.Context())
	must(t, err)
	if len(views) != 1 || len(views[0].Attempts) != 1 {
		t.Errorf("%+v", views)
	}
	if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("%v", err)
	}
}

// A reader that took the file for quiet must not return a mixture when a writer
// comes and goes meanwhile.
func TestReadStartsAgainWhenAWriterComes(t *testing.T) {
	path := filled(t)
	runs, cohorts := 0, 0
	err := read(t.Context(), path, func(ctx context.Context, q querier) error {
		runs++
		if runs == 1 {
			s, err := Open(t.Context(), path, Options{})
			must(t, err)
			p := plan(3)
			cohortOf(t, s, p)
			must(t, s.Close())
		}
		return q.QueryRowContext(ctx, "SELECT count(*) FROM cohorts").Scan(&cohorts)
	})
	must(t, err)
	if runs != 2 || cohorts != 2 {
		t.Errorf("%d runs, the last one saw %d cohorts", runs, cohorts)
	}
}

// A killed writer leaves a log; readers see what it holds.
func TestReaderSeesTheLogOfAKilledWriter(t *testing.T) {
	path := filled(t)
	s := openStore(t, path)
	cohortOf(t, s, plan(3))
	dir := t.TempDir()
	for _, end := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + end)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, "copy.db"+end), data, 0o644))
	}
	views, err := openReader(t, filepath.Join(dir, "copy.db")).Cohorts(t.Context())
	must(t, err)
	if len(views) != 2 {
		t.Errorf("%d cohorts", len(views))
	}
}

func TestEndsWaitForTheDisk(t *testing.T) {
	s := openStore(t, dbPath(t))
	p := plan(1)
	a := begin(t, s, cohortOf(t, s, p), p.Cells[0])
	level := func() (n int) {
		must(t, s.db.QueryRow("PRAGMA synchronous").Scan(&n))
		return n
	}
	must(t, s.AddResponse(t.Context(), a, 1, fullResponse(), nil))
	if got := level(); got != 1 {
		t.Errorf("a response is written with synchronous %d", got)
	}
	must(t, s.EndAttempt(t.Context(), a, attemptEnd("submitted", nil)))
	if got := level(); got != 2 {
		t.Errorf("an end is written with synchronous %d", got)
	}
}
