package results

import (
	"errors"
	"os"
	"testing"

	"assay/internal/bench"
)

// A database that is deleted or replaced under a writer is noticed at the next
// write, not after the night.
func TestMovedDatabaseIsNoticed(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"deleted": os.Remove,
		"renamed": func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error {
			if err := os.Rename(path, path+".old"); err != nil {
				return err
			}
			return os.WriteFile(path, []byte("another file"), 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := dbPath(t)
			s := openStore(t, path)
			cohort := cohortOf(t, s, plan(1))
			must(t, s.AddEvent(t.Context(), cohort, bench.Event{Kind: bench.EventRunStarted}))
			must(t, spoil(path))
			if err := s.AddEvent(t.Context(), cohort, bench.Event{Kind: bench.EventRunEnded}); !errors.Is(err, ErrMoved) {
				t.Errorf("error %v", err)
			}
		})
	}
}
