package boxtest

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"
)

// times are tests of how long something takes; they run one after the other.
func (s suite) times() tests {
	return tests{
		"death of the runner":        s.runnerDies,
		"2 GiB without a line's end": s.hugeLine,
		"cpu of the box":             s.boxCPU,
		"daemon that holds the output of a run": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			begun := time.Now()
			r := run(t, b, python(daemon))
			took(t, "the tail of a run that leaves a daemon", begun.Add(r.Wall), time.Second)
			if r.Reason != bench.ExitExited || string(r.Stdout) != "parent\n" {
				t.Errorf("%+v %q", r.Exit, r.Stdout)
			}
			onlyLister(t, b)
		},
		"daemon that holds the output past the limit": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			c := python(daemon, "stay")
			c.Limits.Wall = time.Second
			begun := time.Now()
			r := run(t, b, c)
			took(t, "a limit of 1 s", begun, 2*time.Second)
			wantReason(t, r, bench.ExitWallLimit)
			if string(r.Stdout) != "parent\n" {
				t.Errorf("%q", r.Stdout)
			}
			onlyLister(t, b)
		},
		"daemon that holds the output of a started process": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			ctx := within(t, 10*time.Second)
			begun := time.Now()
			p, err := b.Start(ctx, python(daemon))
			if err != nil {
				t.Fatal(err)
			}
			out, err := io.ReadAll(p.Stdout())
			if err != nil || string(out) != "parent\n" {
				t.Errorf("%q %v", out, err)
			}
			x, err := p.Wait(ctx)
			if err != nil || x.Reason != bench.ExitExited {
				t.Errorf("%+v %v", x, err)
			}
			took(t, "the tail of a process that leaves a daemon", begun.Add(x.Wall), time.Second)
			if err := b.Sweep(ctx); err != nil {
				t.Fatal(err)
			}
			onlyLister(t, b)
		},
		"grandchildren that ignore signals": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			c := python(`
import os, signal, time
for sig in range(1, 65):
    try: signal.signal(sig, signal.SIG_IGN)
    except (OSError, ValueError): pass
for depth in range(6):
    if os.fork() == 0: os.setsid() if depth % 2 else os.setpgid(0, 0)
while True: time.sleep(1)`)
			c.Limits.Wall = 500 * time.Millisecond
			begun := time.Now()
			wantReason(t, run(t, b, c), bench.ExitWallLimit)
			took(t, "a limit of 500 ms", begun, 1500*time.Millisecond)
			onlyLister(t, b)
		},
		"sparse file": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			mustRun(t, b, Shell("truncate -s 5G holes"))
			begun := time.Now()
			var large *sandbox.TooLargeError
			if _, err := b.ReadFile(t.Context(), "holes", 1<<20); !errors.As(err, &large) || large.Size != 5<<30 {
				t.Errorf("read: %v", err)
			}
			x, err := b.Export(t.Context(), bench.DefaultExportLimits())
			if err != nil || len(x.Tree) > 0 || !strings.Contains(x.Rejected, "holes") || !strings.Contains(x.Rejected, "sparse") {
				t.Errorf("export: %+v %v", x, err)
			}
			took(t, "the refusal of a sparse file", begun, 2*time.Second)
			write(t, b, "holes", "small", 0o644)
			if x, err = b.Export(t.Context(), bench.DefaultExportLimits()); err != nil || len(x.Tree) != 1 {
				t.Errorf("%+v %v", x, err)
			}
		},
	}
}
