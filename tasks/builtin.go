package tasks

import (
	"embed"
	"fmt"
	"io/fs"

	"assay/internal/bench"
)

//go:embed all:ledger
var builtin embed.FS

// Builtin returns the embedded tasks, one folder each.
func Builtin() fs.FS { return builtin }

// Names returns the names of the embedded tasks, sorted.
func Names() []string {
	entries, err := builtin.ReadDir(".")
	if err != nil {
		return nil // the root of an embedded file system can always be read
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// UnknownTaskError is the answer to a name that no embedded task has.
type UnknownTaskError struct {
	Name  string
	Known []string
}

func (e *UnknownTaskError) Error() string {
	return fmt.Sprintf("no task is named %q; there are: %v", e.Name, e.Known)
}

// Open loads an embedded task.
func Open(name string) (*Source, error) {
	for _, known := range Names() {
		if name == known {
			return Load(builtin, name)
		}
	}
	return nil, &UnknownTaskError{Name: name, Known: Names()}
}

// Describe returns the Info of an embedded task.
func Describe(name string) (Info, error) {
	s, err := Open(name)
	if err != nil {
		return Info{}, err
	}
	return s.Info, nil
}

// Render renders an embedded task. Its error is an *UnknownTaskError, Faults, or
// says which variant the task lacks.
func Render(name string, v bench.Variant, seed int) (bench.Task, error) {
	s, err := Open(name)
	if err != nil {
		return bench.Task{}, err
	}
	return s.Render(v, seed)
}
