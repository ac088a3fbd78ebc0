package boxtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"
)

// Env is the environment that the suite gives its processes.
var Env = []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}

// Shell is a command line for the shell of a box.
func Shell(source string) bench.Command {
	return bench.Command{Argv: []string{"/bin/sh", "-c", source}, Env: Env, Limits: bench.ProcessLimits{Wall: 10 * time.Second}}
}

func python(source string, args ...string) bench.Command {
	return bench.Command{
		Argv:   append([]string{"/usr/bin/python3", "-I", "-S", "-c", source}, args...),
		Env:    Env,
		Limits: bench.ProcessLimits{Wall: 10 * time.Second},
	}
}

func run(t *testing.T, b sandbox.Box, c bench.Command) bench.CommandResult {
	t.Helper()
	r, err := b.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// mustRun runs what must exit with 0 and returns its stdout.
func mustRun(t *testing.T, b sandbox.Box, c bench.Command) string {
	t.Helper()
	r := run(t, b, c)
	if r.Reason != bench.ExitExited || r.Code != 0 {
		t.Fatalf("%s: %+v\nstdout: %.2000s\nstderr: %.2000s", c.Argv[0], r.Exit, r.Stdout, r.Stderr)
	}
	return string(r.Stdout)
}

// wantRun runs what must exit with 0 and print exactly that.
func wantRun(t *testing.T, b sandbox.Box, c bench.Command, want string) {
	t.Helper()
	if got := mustRun(t, b, c); got != want {
		t.Errorf("got\n%.2000q\nwant\n%.2000q", got, want)
	}
}

// server starts a process that says a line when it is ready and then stays.
func server(t *testing.T, b sandbox.Box, c bench.Command, ready string) bench.Process {
	t.Helper()
	c.Limits.Wall = time.Minute
	p, err := b.Start(within(t, time.Minute), c)
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len(ready))
	if _, err := io.ReadFull(p.Stdout(), line); err != nil || string(line) != ready {
		said, _ := io.ReadAll(io.LimitReader(p.Stderr(), 2000))
		t.Fatalf("the server said %q, %v\n%s", line, err, said)
	}
	return p
}

// healthy checks that a box still does everything.
func healthy(t *testing.T, b sandbox.Box) {
	t.Helper()
	if got := mustRun(t, b, Shell("echo well")); got != "well\n" {
		t.Errorf("after it all the box says %q", got)
	}
	write(t, b, "probe/file", "x", 0o644)
	if got, err := b.ReadFile(t.Context(), "probe/file", 10); err != nil || string(got) != "x" {
		t.Errorf("after it all a file reads %q, %v", got, err)
	}
}

func write(t *testing.T, b sandbox.Box, path, data string, mode fs.FileMode) {
	t.Helper()
	if err := b.WriteFile(t.Context(), path, []byte(data), mode); err != nil {
		t.Fatal(err)
	}
}

func wantReason(t *testing.T, r bench.CommandResult, want bench.ExitReason) {
	t.Helper()
	if r.Reason != want {
		t.Fatalf("ended by %s, not %s: %+v\nstdout: %.300s\nstderr: %.300s", r.Reason, want, r.Exit, r.Stdout, r.Stderr)
	}
}

// within bounds a test that may hang.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func isLost(err error) bool { return errors.Is(err, bench.ErrBoxLost) }

// listProcesses prints every process of the box by name.
const listProcesses = `
import os
for p in os.listdir("/proc"):
    if p.isdigit():
        try: print(p, open(f"/proc/{p}/stat").read().split(")")[0])
        except OSError: pass`

// onlyLister checks that nothing but PID 1 and the one who looks runs in a box.
func onlyLister(t *testing.T, b sandbox.Box) {
	t.Helper()
	if got := mustRun(t, b, python(listProcesses)); strings.Count(got, "\n") != 2 {
		t.Errorf("left beside PID 1 and the lister:\n%s", got)
	}
}

// waitGone waits until a process of the box has removed a file.
func waitGone(t *testing.T, b sandbox.Box, path string) {
	t.Helper()
	ctx := within(t, 10*time.Second)
	for {
		_, err := b.ReadFile(ctx, path, 1)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// took checks that something ended in time.
func took(t *testing.T, what string, begun time.Time, most time.Duration) {
	t.Helper()
	if d := time.Since(begun); d > most {
		t.Errorf("%s took %s; at most %s", what, d.Round(time.Millisecond), most)
	}
}

func mustTree(t testing.TB, files ...bench.File) bench.Tree {
	t.Helper()
	tree, err := bench.NewTree(files)
	if err != nil {
		t.Fatal(fmt.Errorf("tree of a test: %w", err))
	}
	return tree
}
