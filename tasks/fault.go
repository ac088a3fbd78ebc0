package tasks

import (
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing that is wrong with a file of a task or fixture.
type Fault struct {
	File    string // slash-separated, from the root that was loaded
	Line    int    // from 1; 0: the file as a whole
	Message string
}

func (f Fault) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s", f.File, f.Message)
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message)
}

// Faults is an error that lists everything that is wrong, in order of file and line.
type Faults []Fault

func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.String()
	}
	return strings.Join(lines, "\n")
}

// Err returns the faults as an error, sorted, or nil where there is none.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	sorted := slices.Clone(f)
	slices.SortStableFunc(sorted, func(a, b Fault) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	return sorted
}

// Add notes a fault.
func (f *Faults) Add(file string, line int, format string, args ...any) {
	*f = append(*f, Fault{File: file, Line: line, Message: fmt.Sprintf(format, args...)})
}
