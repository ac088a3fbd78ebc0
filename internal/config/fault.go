package config

import (
	"fmt"
	"sort"
	"strings"
)

// faultsShown bounds the text of a Faults error; a machine-made file can hold
// one fault per byte.
const faultsShown = 100

// Fault is one thing that is wrong with a study file.
type Fault struct {
	File    string // as it was given to Load
	Line    int    // from 1
	Table   string // "[coding.limits]", "[[arm]]"; empty: top level
	Key     string // key inside the table; empty: the table itself, or the file
	Message string // what is wrong and, where that is not plain, what to do
}

func (f Fault) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d: ", f.File, f.Line)
	where := strings.TrimSpace(f.Table + " " + f.Key)
	if where != "" {
		b.WriteString(where + ": ")
	}
	b.WriteString(f.Message)
	return b.String()
}

// Faults is the error of a study file: every fault found, in the order of lines.
type Faults []Fault

// Error has one line per fault, at most the first hundred and a count of the rest.
func (fs Faults) Error() string {
	var b strings.Builder
	for i, f := range fs {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == faultsShown {
			fmt.Fprintf(&b, "and %d more faults", len(fs)-i)
			break
		}
		b.WriteString(f.Error())
	}
	return b.String()
}

func (fs Faults) sort() {
	sort.SliceStable(fs, func(i, j int) bool { return fs[i].Line < fs[j].Line })
}
