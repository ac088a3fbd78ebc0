package boxtest

import (
	"slices"
	"testing"

	"assay/internal/bench"
	"assay/internal/sandbox"
)

// Kind is a kind of box under test.
type Kind struct {
	Open Open

	// Left lists what still runs, one word each, of the box that the runner of that
	// pid opened; its candidate has mark among its arguments. nil: the processes of
	// this machine that have it, for kinds whose processes can be seen here.
	Left func(t *testing.T, pid int, mark string) []string

	// Only names the groups to run; nil: all of them.
	Only []string
}

// suite is one run of the conformance tests.
type suite struct {
	Kind
	enforces bench.Enforces
	tally    *tally
}

type tests map[string]func(*testing.T)

// Run runs the conformance suite against a kind of box. Where the kind does not
// enforce a limit on the whole box it must say so, and the suite checks that
// this is so; where it says that it does, the suite checks the enforcement.
func Run(t *testing.T, open Open) { Kind{Open: open}.Run(t) }

// Run runs the conformance suite. At the end it logs one table of it.
func (k Kind) Run(t *testing.T) {
	b, err := k.Open(t.Context(), sandbox.Options{})
	Skip(t, err)
	env := b.Environment()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if k.Left == nil {
		k.Left = marked
	}
	s := suite{k, env.Enforces, newTally(env)}
	t.Cleanup(func() { t.Log(s.tally.table()) })
	s.group(t, "time", s.times(), false)
	for name, tests := range map[string]tests{
		"process": s.processes(), "stream": s.streams(), "output": s.outputs(),
		"limit": s.limits(), "quota": s.quotas(), "network": s.network(), "bomb": s.bombs(),
		"daemon": s.daemons(), "leftover": s.leftovers(), "neighbour": s.neighbours(),
		"supervisor": s.supervisor(), "identity": s.identity(), "kernel": s.kernel(),
		"file": s.files(), "name": s.names(), "link": s.links(), "special": s.specials(),
		"export": s.exports(), "rejected": s.rejections(), "life": s.life(),
	} {
		s.group(t, name, tests, true)
	}
}

// group runs tests that count as one line of the table.
func (s suite) group(t *testing.T, group string, all tests, parallel bool) {
	if s.Only != nil && !slices.Contains(s.Only, group) {
		return
	}
	for name, test := range all {
		t.Run(group+"/"+name, func(t *testing.T) {
			if parallel {
				t.Parallel()
			}
			t.Cleanup(func() { s.tally.add(group, t) })
			test(t)
		})
	}
}

// skip skips a test loudly; the table repeats why.
func (s suite) skip(t *testing.T, why string) {
	t.Helper()
	s.tally.skipped(t, why)
	t.Skip("SKIP: " + why)
}

// box opens a box that the test closes.
func (s suite) box(t *testing.T, o sandbox.Options) sandbox.Box {
	t.Helper()
	b, err := s.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

// declared fails a test where a declaration and a fact differ.
func declared(t *testing.T, what string, declared, fact bool) {
	t.Helper()
	if declared != fact {
		t.Errorf("the box declares %s enforced: %t; what was seen says %t", what, declared, fact)
	}
}
