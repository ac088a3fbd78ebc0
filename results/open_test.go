package results

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRefusalsChangeNothing(t *testing.T) {
	good, err := os.ReadFile(filled(t))
	must(t, err)
	write := func(data []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) { must(t, os.WriteFile(path, data, 0o644)) }
	}
	sql := func(queries ...string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			write(good)(t, path)
			db := foreign(t, path)
			for _, q := range queries {
				if _, err := db.Exec(q); err != nil {
					t.Fatal(err)
				}
			}
			must(t, db.Close())
		}
	}
	mode := func(m fs.FileMode, dir bool) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			write(good)(t, path)
			if dir {
				path = filepath.Dir(path)
				t.Cleanup(func() { os.Chmod(path, 0o755) })
			}
			must(t, os.Chmod(path, m))
		}
	}
	for _, tt := range []struct {
		name    string
		arrange func(*testing.T, string)
		want    error
		reader  error // of OpenReader; nil: it opens
	}{
		{"newer format", sql("PRAGMA user_version = 2"), ErrNewerFormat, ErrNewerFormat},
		{"garbage", write([]byte(strings.Repeat("no database ", 1000))), ErrNotADatabase, ErrNotADatabase},
		{"short garbage", write([]byte("x")), ErrNotADatabase, ErrNotADatabase},
		{"empty file", write(nil), ErrNotADatabase, ErrNotADatabase},
		{"other program", sql("PRAGMA application_id = 7"), ErrNotADatabase, ErrNotADatabase},
		{"truncated", write(good[:len(good)/2]), ErrAltered, ErrAltered},
		{"truncated in the first page", write(good[:1000]), ErrAltered, ErrAltered},
		{"trigger dropped", sql("DROP TRIGGER attempts_no_update"), ErrAltered, ErrAltered},
		{"trigger added", sql("CREATE TRIGGER x AFTER INSERT ON events BEGIN SELECT 1; END"), ErrAltered, ErrAltered},
		{"table altered", sql("ALTER TABLE events ADD COLUMN extra TEXT"), ErrAltered, ErrAltered},
		{"read-only file", mode(0o444, false), ErrReadOnly, nil},
		{"read-only folder", mode(0o555, true), ErrReadOnly, nil},
		{"folder", func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o755)) }, ErrNotADatabase, ErrNotADatabase},
		{"dangling link", func(t *testing.T, path string) { must(t, os.Symlink("nowhere", path)) }, fs.ErrNotExist, fs.ErrNotExist},
		{"missing", func(*testing.T, string) {}, fs.ErrNotExist, fs.ErrNotExist},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "record.db")
			tt.arrange(t, path)
			before := listing(t, dir)
			if s, err := Open(t.Context(), path, Options{MustExist: true}); !errors.Is(err, tt.want) {
				t.Errorf("Open: %v, want %v", err, tt.want)
				if err == nil {
					s.Close()
				}
			}
			if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
				t.Errorf("Open changed the folder:\n%s", diff)
			}
			if _, err := OpenReader(t.Context(), path); !errors.Is(err, tt.reader) {
				t.Errorf("OpenReader: %v, want %v", err, tt.reader)
			}
			if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
				t.Errorf("OpenReader changed the folder:\n%s", diff)
			}
		})
	}
}

// listing tells names, kinds and contents of a folder.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	out := map[string]string{}
	for _, e := range entries {
		data := []byte(nil)
		if e.Type().IsRegular() {
			data, err = os.ReadFile(filepath.Join(dir, e.Name()))
			must(t, err)
		}
		out[e.Name()] = fmt.Sprintf("%s %d bytes %x", e.Type(), len(data), data[:min(len(data), 100)])
		if len(data) > 0 {
			out[e.Name()] += fmt.Sprint(bytes.Count(data, []byte{0}))
		}
	}
	return out
}

func TestMissingFolder(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(t.Context(), filepath.Join(dir, "missing", "record.db"), Options{})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "make it first") {
		t.Errorf("%v", err)
	}
	if got := listing(t, dir); len(got) != 0 {
		t.Errorf("made %v", got)
	}
}

func TestCloseLeavesOneFile(t *testing.T) {
	path := filled(t)
	got := listing(t, filepath.Dir(path))
	if len(got) != 1 {
		t.Errorf("%v", got)
	}
	r := openReader(t, path)
	if _, err := r.Cohorts(t.Context()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(got, listing(t, filepath.Dir(path))); diff != "" {
		t.Errorf("a reader changed the folder:\n%s", diff)
	}
}

func TestOddPaths(t *testing.T) {
	for _, name := range []string{"a b?c#d%41&mode=memory.db", "é;'\".db", ":memory:", "file:x.db"} {
		path := filepath.Join(t.TempDir(), name)
		s := openStore(t, path)
		cohort := cohortOf(t, s, plan(2))
		views, err := openReader(t, path).Cohorts(t.Context())
		must(t, err)
		if len(views) != 1 || views[0].ID != cohort {
			t.Errorf("%q: %v", name, views)
		}
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// A second name of the same file must not be a second lock.
func TestLinkSharesTheLock(t *testing.T) {
	path := dbPath(t)
	openStore(t, path)
	link := filepath.Join(t.TempDir(), "link.db")
	must(t, os.Symlink(path, link))
	_, err := Open(t.Context(), link, Options{})
	if !errors.Is(err, ErrLocked) {
		t.Errorf("%v", err)
	}
}

func TestPragmasHoldOnEveryConnection(t *testing.T) {
	path := filled(t)
	db, err := connect(path, accessWrite, 0, 3)
	must(t, err)
	defer db.Close()
	for range 3 { // kept open, so that each is a new connection
		c, err := db.Conn(t.Context())
		must(t, err)
		defer c.Close()
		for pragma, want := range map[string]string{
			"foreign_keys": "1", "journal_mode": "wal", "synchronous": "2", "busy_timeout": "10000", "recursive_triggers": "1",
		} {
			var got string
			must(t, c.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got))
			if got != want {
				t.Errorf("%s is %s, want %s", pragma, got, want)
			}
		}
	}
}

func TestUnfinishedCreationIsRepeated(t *testing.T) {
	path := dbPath(t)
	must(t, os.WriteFile(path+".new", []byte("half"), 0o644))
	must(t, os.WriteFile(path+".lock", []byte("1\nold\n2026-01-01T00:00:00Z\n"), 0o644))
	s, err := Open(t.Context(), path, Options{})
	must(t, err)
	must(t, s.Close())
	if got := listing(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestViewsAndIndexesOfAUserAreFine(t *testing.T) {
	path := filled(t)
	db := foreign(t, path)
	for _, q := range []string{"CREATE VIEW mine AS SELECT * FROM attempts", "CREATE INDEX mine_too ON attempts (worker)"} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	openStore(t, path)
}

func TestCanceledWrite(t *testing.T) {
	s := openStore(t, dbPath(t))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stopped by the user"))
	if _, err := s.EnsureCohort(ctx, plan(2)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	cohortOf(t, s, plan(2)) // the store is still good
}
