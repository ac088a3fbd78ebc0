package boxtest

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"
)

func (s suite) outputs() tests {
	return tests{
		"output": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			for name, c := range map[string]bench.Command{
				"yes":           Shell("exec yes"),
				"stderr":        Shell("exec yes >&2"),
				"both streams":  Shell("yes >&2 & exec yes"),
				"one huge line": Shell("exec tr '\\0' x </dev/zero"),
			} {
				c.Limits.OutputBytes, c.Limits.KeepBytes = 1<<20, 4096
				r := run(t, b, c)
				wantReason(t, r, bench.ExitOutputLimit)
				if len(r.Stdout) > 4096 || len(r.Stderr) > 4096 {
					t.Errorf("%s: %d and %d bytes were kept", name, len(r.Stdout), len(r.Stderr))
				}
				if n := max(r.StdoutBytes, r.StderrBytes); n <= 1<<20 || n > 2<<20 {
					t.Errorf("%s: %d bytes counted", name, n)
				}
			}
			healthy(t, b)
		},
		"output kept": func(t *testing.T) {
			c := python("print('head'); print('x'*100_000); print('tail')")
			c.Limits.KeepBytes = 1000
			r := run(t, s.box(t, sandbox.Options{}), c)
			if r.Code != 0 || r.StdoutBytes != 100_011 || len(r.Stdout) > 1000 || !bytes.HasPrefix(r.Stdout, []byte("head\n")) ||
				!bytes.HasSuffix(r.Stdout, []byte("x\ntail\n")) || !bytes.Contains(r.Stdout, []byte("bytes left out")) {
				t.Errorf("%+v %.40q…%.40q", r.Exit, r.Stdout, r.Stdout[max(0, len(r.Stdout)-40):])
			}
		},
		"exactly the cap": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			c := Shell("head -c 1000000 /dev/zero")
			c.Limits.OutputBytes = 1_000_000
			if r := run(t, b, c); r.Reason != bench.ExitExited || r.StdoutBytes != 1_000_000 || len(r.Stdout) != 1_000_000 {
				t.Errorf("%+v, %d bytes kept", r.Exit, len(r.Stdout))
			}
		},
	}
}

// hugeLine runs alone, because it looks at what this process allocates.
func (s suite) hugeLine(t *testing.T) {
	b := s.box(t, sandbox.Options{})
	c := Shell("tr '\\0' x </dev/zero | head -c 2147483648")
	c.Limits.Wall, c.Limits.KeepBytes = time.Minute, 64<<10
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begun := time.Now()
	r := run(t, b, c)
	took(t, "the way to the cap", begun, 10*time.Second)
	runtime.ReadMemStats(&after)
	wantReason(t, r, bench.ExitOutputLimit)
	if len(r.Stdout) > 64<<10 || r.StdoutBytes > 2*sandbox.DefaultOutputBytes {
		t.Errorf("%d bytes kept, %d counted", len(r.Stdout), r.StdoutBytes)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 128<<20 {
		t.Errorf("%d bytes were allocated for %d of output", n, r.StdoutBytes)
	}
	healthy(t, b)
}
