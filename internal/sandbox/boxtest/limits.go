package boxtest

import (
	"strings"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"
)

func (s suite) limits() tests {
	return tests{
		"wall": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			c := Shell("echo begun; trap '' TERM INT HUP; sleep 1000 & setsid sleep 1000 & while :; do sleep 1; done")
			c.Limits.Wall = time.Second
			r := run(t, b, c)
			wantReason(t, r, bench.ExitWallLimit)
			if r.Wall < c.Limits.Wall || r.Wall > 5*time.Second || string(r.Stdout) != "begun\n" || r.Code != -1 {
				t.Errorf("%+v %q", r.Exit, r.Stdout)
			}
			if got := mustRun(t, b, python(listProcesses)); strings.Contains(got, "sleep") {
				t.Errorf("left: %s", got)
			}
		},
		"cpu": func(t *testing.T) {
			c := python("while True: pass")
			c.Limits.CPU = time.Second
			r := run(t, s.box(t, sandbox.Options{}), c)
			wantReason(t, r, bench.ExitCPULimit)
			// The kernel counts the limit in ticks and the usage more finely: on a busy
			// machine they differ by a tenth and more.
			if r.CPU < 500*time.Millisecond || r.CPU > 3*time.Second {
				t.Errorf("%+v", r.Exit)
			}
		},
		"cpu, signal caught": func(t *testing.T) {
			c := python("import signal\nsignal.signal(signal.SIGXCPU, lambda *a: None)\nwhile True: pass")
			c.Limits.CPU = time.Second
			wantReason(t, run(t, s.box(t, sandbox.Options{}), c), bench.ExitCPULimit)
		},
		"limits are hard": func(t *testing.T) {
			got := mustRun(t, s.box(t, sandbox.Options{}), python(`
import resource
for name in "CPU", "NPROC", "NOFILE", "CORE", "AS":
    soft, hard = resource.getrlimit(getattr(resource, "RLIMIT_" + name))
    try: resource.setrlimit(getattr(resource, "RLIMIT_" + name), (hard + 10, hard + 10)); print(name, "raised")
    except (ValueError, OSError): pass
print(resource.getrlimit(resource.RLIMIT_CORE), resource.getrlimit(resource.RLIMIT_NOFILE))`))
			if got != "(0, 0) (256, 256)\n" {
				t.Error(got)
			}
		},
		"file size": func(t *testing.T) {
			c := Shell("head -c 2000000 /dev/zero >big; echo $?; stat -c %s big")
			c.Limits.FileBytes = 1_000_000
			got := mustRun(t, s.box(t, sandbox.Options{}), c)
			if !strings.HasSuffix(got, "\n1000000\n") || strings.HasPrefix(got, "0\n") {
				t.Error(got)
			}
		},
		"open files": func(t *testing.T) {
			c := python("fs=[]\ntry:\n while True: fs.append(open('/dev/null'))\nexcept OSError as e: print(e.errno, len(fs))")
			c.Limits.OpenFiles = 64
			if got := mustRun(t, s.box(t, sandbox.Options{}), c); !strings.HasPrefix(got, "24 6") {
				t.Error(got)
			}
		},
		"memory of a process": func(t *testing.T) {
			c := python("try: bytearray(300<<20); print('got it')\nexcept MemoryError: print('refused')")
			c.Limits.MemoryBytes = 200 << 20
			if got := mustRun(t, s.box(t, sandbox.Options{}), c); got != "refused\n" {
				t.Error(got)
			}
		},
		"deadline of the box": func(t *testing.T) {
			b := s.box(t, sandbox.Options{Deadline: 300 * time.Millisecond})
			if _, err := b.Run(t.Context(), Shell("sleep 20")); !isLost(err) || !strings.Contains(err.Error(), "deadline") {
				t.Errorf("got %v", err)
			}
		},
		"options that cannot be": func(t *testing.T) {
			for _, o := range []sandbox.Options{{Purpose: "play"}, {DiskBytes: -1}} {
				if b, err := s.Open(t.Context(), o); err == nil {
					_ = b.Close()
					t.Errorf("%+v was accepted", o)
				}
			}
		},
	}
}
