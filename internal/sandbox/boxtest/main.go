// Package boxtest is the conformance suite that every kind of box passes, and
// what tests that use boxes need.
package boxtest

import (
	"context"
	"errors"
	"os"
	"testing"

	"assay/internal/sandbox"
	"assay/internal/sandbox/supervisor"
)

// Open opens a box of the kind under test.
type Open func(context.Context, sandbox.Options) (sandbox.Box, error)

// Main is the TestMain of packages whose tests open boxes: the test binary is
// also the supervisor, and the runner whose death is tested. open may be nil
// where the suite is not run.
func Main(m *testing.M, open Open) int {
	if len(os.Args) > 1 && os.Args[1] == supervisor.Arg {
		return supervisor.Main(os.Args[2:])
	}
	if mark := os.Getenv(runnerEnv); mark != "" {
		return runner(open, mark)
	}
	return m.Run()
}

// Skip skips a test loudly where this machine cannot open boxes.
func Skip(t testing.TB, err error) {
	t.Helper()
	var u *sandbox.UnavailableError
	if errors.As(err, &u) {
		t.Skipf("SKIP: boxes are not tested on this machine: %s\nto test them: %s", u.Problem, u.Cure)
	}
	if err != nil {
		t.Fatal(err)
	}
}
