package boxtest

import (
	"context"
	"io/fs"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"
)

// suite is one run of the conformance tests.
type suite struct {
	open Open
}

// Run runs the conformance suite against a kind of box. Where the kind does not
// enforce a limit on the whole box it must say so; where it says that it does,
// the suite checks it.
func Run(t *testing.T, open Open) {
	s := suite{open}
	b, err := open(t.Context(), sandbox.Options{})
	Skip(t, err)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	// Alone, for it is about time.
	t.Run("life/death of the runner", s.runnerDies)
	for _, group := range []struct {
		name  string
		tests map[string]func(*testing.T)
	}{
		{"process", s.processes()},
		{"limit", s.limits()},
		{"hostile", s.hostile()},
		{"file", s.files()},
		{"export", s.exports()},
		{"life", s.life()},
	} {
		for name, test := range group.tests {
			t.Run(group.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	}
}

// box opens a box that the test closes.
func (s suite) box(t *testing.T, o sandbox.Options) sandbox.Box {
	t.Helper()
	b, err := s.open(t.Context(), o)
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
		t.Fatalf("%q: %+v\nstdout: %s\nstderr: %s", c.Argv, r.Exit, r.Stdout, r.Stderr)
	}
	return string(r.Stdout)
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
