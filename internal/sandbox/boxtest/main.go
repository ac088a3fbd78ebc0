// Package boxtest is the conformance suite that every kind of box passes, and
// what tests that use boxes need.
package boxtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"
	"assay/internal/sandbox/supervisor"
)

// Open opens a box of the kind under test.
type Open func(context.Context, sandbox.Options) (sandbox.Box, error)

// runnerEnv makes a test binary the runner that a test will kill.
const runnerEnv = "ASSAY_BOXTEST_RUNNER"

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

// runner opens a box full of processes that would run for ever, says so, and
// waits for its death.
func runner(open Open, mark string) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b, err := open(ctx, sandbox.Options{})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	p, err := b.Start(ctx, python(`
import os, sys, time
for i in range(8):
    if os.fork() == 0:
        os.setsid()
        while True: pass
print("spinning", flush=True)
time.sleep(1000)
`, mark))
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	line := make([]byte, 9)
	if _, err := p.Stdout().Read(line); err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println("ready")
	<-ctx.Done()
	return 1
}

// Env is the environment that the suite gives its processes.
var Env = []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}

func python(source string, args ...string) bench.Command {
	return bench.Command{
		Argv:   append([]string{"/usr/bin/python3", "-I", "-S", "-c", source}, args...),
		Env:    Env,
		Limits: bench.ProcessLimits{Wall: 10 * time.Second},
	}
}

// Shell is a command line for the shell of a box.
func Shell(source string) bench.Command {
	return bench.Command{Argv: []string{"/bin/sh", "-c", source}, Env: Env, Limits: bench.ProcessLimits{Wall: 10 * time.Second}}
}
