package boxtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay/internal/bench"
)

// tally counts what became of the subtests of one run of the suite.
type tally struct {
	env bench.Environment

	mu     sync.Mutex
	groups map[string]*counts
	skips  []string
}

type counts struct{ pass, skip, fail int }

func newTally(env bench.Environment) *tally {
	return &tally{env: env, groups: map[string]*counts{}}
}

func (l *tally) add(group string, t *testing.T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.groups[group]
	if c == nil {
		c = &counts{}
		l.groups[group] = c
	}
	switch {
	case t.Failed():
		c.fail++
	case t.Skipped():
		c.skip++
	default:
		c.pass++
	}
}

func (l *tally) skipped(t *testing.T, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.skips = append(l.skips, fmt.Sprintf("SKIP %s: %s", t.Name(), why))
}

// table is what is read of a run of the suite.
func (l *tally) table() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	e := l.env.Enforces
	fmt.Fprintf(&b, "conformance of kind %s\n", l.env.Kind)
	fmt.Fprintf(&b, "enforces: memory %t, processes %t, disk %t, inodes %t, cpu %t, network %t, uid %t\n",
		e.Memory, e.Processes, e.Disk, e.Inodes, e.CPU, e.Network, e.UID)
	var all counts
	const row = "%-12s %5d %5d %5d\n"
	fmt.Fprintf(&b, "%-12s %5s %5s %5s\n", "group", "pass", "skip", "fail")
	for _, name := range slices.Sorted(maps.Keys(l.groups)) {
		c := l.groups[name]
		fmt.Fprintf(&b, row, name, c.pass, c.skip, c.fail)
		all.pass, all.skip, all.fail = all.pass+c.pass, all.skip+c.skip, all.fail+c.fail
	}
	fmt.Fprintf(&b, row, "all", all.pass, all.skip, all.fail)
	slices.Sort(l.skips)
	for _, s := range l.skips {
		b.WriteString(s + "\n")
	}
	return b.String()
}
