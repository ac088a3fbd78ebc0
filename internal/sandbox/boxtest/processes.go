package boxtest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"

	"github.com/google/go-cmp/cmp"
)

func (s suite) processes() tests {
	return tests{
		"streams and exit code": func(t *testing.T) {
			r := run(t, s.box(t, sandbox.Options{}), Shell("echo out; echo err >&2; exit 3"))
			if r.Reason != bench.ExitExited || r.Code != 3 || string(r.Stdout) != "out\n" || string(r.Stderr) != "err\n" {
				t.Errorf("%+v %q %q", r.Exit, r.Stdout, r.Stderr)
			}
			if r.StdoutBytes != 4 || r.Wall <= 0 || r.CPU <= 0 {
				t.Errorf("not measured: %+v", r.Exit)
			}
		},
		"signal": func(t *testing.T) {
			r := run(t, s.box(t, sandbox.Options{}), Shell("kill -SEGV $$"))
			if r.Reason != bench.ExitSignalled || r.Signal != 11 || r.Code != -1 {
				t.Errorf("%+v", r.Exit)
			}
		},
		"killed by its own kill -9 is not ours": func(t *testing.T) {
			wantReason(t, run(t, s.box(t, sandbox.Options{}), Shell("kill -KILL $$")), bench.ExitSignalled)
		},
		"not started": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			for _, argv := range [][]string{{"/no/such"}, {"no-such"}, {"/etc/passwd"}, {"/usr"}} {
				r := run(t, b, bench.Command{Argv: argv, Env: Env})
				wantReason(t, r, bench.ExitNotStarted)
				if !strings.Contains(r.Message, argv[0]) {
					t.Errorf("%q: message %q does not name it", argv, r.Message)
				}
			}
			r := run(t, b, bench.Command{Argv: []string{"/bin/true"}, Dir: "absent"})
			wantReason(t, r, bench.ExitNotStarted)
		},
		"environment is exact": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			want := []string{"B=2", "A=x y=z", "GODEBUG=inittrace=1", "odd-name=1", "EMPTY=", "BYTES=\xff"}
			r := run(t, b, bench.Command{Argv: []string{"/usr/bin/env", "-0"}, Env: want})
			if diff := cmp.Diff(want, strings.Split(strings.TrimSuffix(string(r.Stdout), "\x00"), "\x00")); diff != "" {
				t.Errorf("environment (-want +got)\n%s", diff)
			}
			if len(r.Stderr) != 0 {
				t.Errorf("stderr %q", r.Stderr)
			}
			if r := run(t, b, bench.Command{Argv: []string{"/usr/bin/env"}}); len(r.Stdout) != 0 {
				t.Errorf("an empty environment holds %q", r.Stdout)
			}
		},
		"arguments are exact": func(t *testing.T) {
			want := []string{"", "a b", "\xff\xfe", "*", "new\nline", "-x"}
			r := run(t, s.box(t, sandbox.Options{}), python("import os,sys\nfor a in sys.argv[1:]: sys.stdout.buffer.write(os.fsencode(a)+b'\\0')", want...))
			if diff := cmp.Diff(want, strings.Split(strings.TrimSuffix(string(r.Stdout), "\x00"), "\x00")); diff != "" {
				t.Errorf("arguments (-want +got)\n%s", diff)
			}
		},
		"folder": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			write(t, b, "a/b", "", fs.ModeDir|0o755)
			c := Shell("pwd")
			if got := mustRun(t, b, c); got != "/w\n" {
				t.Errorf("default folder %q", got)
			}
			c.Dir = "a/b"
			if got := mustRun(t, b, c); got != "/w/a/b\n" {
				t.Errorf("folder %q", got)
			}
			c.Dir = "../tmp"
			var escape *sandbox.EscapeError
			if _, err := b.Run(t.Context(), c); !errors.As(err, &escape) {
				t.Errorf("folder outside: %v", err)
			}
		},
		"clean start": func(t *testing.T) {
			got := mustRun(t, s.box(t, sandbox.Options{}), python(`
import os, signal
print(sorted(int(f) for f in os.listdir("/proc/self/fd"))[:3], len(os.listdir("/proc/self/fd")))
print([s for s in range(1, 32) if signal.getsignal(s) == signal.SIG_IGN], signal.pthread_sigmask(0, []))
print(os.getsid(0) == os.getpid(), os.getpid() != 1, os.umask(0))
print(open("/proc/self/oom_score_adj").read().strip())
print([l.split()[1] for l in open("/proc/self/status") if l.startswith(("CapEff", "CapBnd", "NoNewPrivs"))])`))
			want := "[0, 1, 2] 4\n" + // the fourth is the folder being listed
				"[<Signals.SIGPIPE: 13>, <Signals.SIGXFSZ: 25>] set()\n" + // Python's own doing
				"True True 18\n1000\n"
			want = strings.Replace(want, "[<Signals.SIGPIPE: 13>, <Signals.SIGXFSZ: 25>]", "[13, 25]", 1)
			if !strings.HasPrefix(got, want) || !strings.Contains(got, "'0000000000000000'") || !strings.Contains(got, "'1'") {
				t.Errorf("got\n%swant\n%s and no capability, no new privileges", got, want)
			}
		},
		"run spares what was started": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			ctx := within(t, 20*time.Second)
			p, err := b.Start(ctx, Shell("sh -c 'read x; echo $x' & wait; read y; echo $y"))
			if err != nil {
				t.Fatal(err)
			}
			p2, err := b.Start(ctx, Shell("read y; echo $y"))
			if err != nil {
				t.Fatal(err)
			}
			mustRun(t, b, Shell("(setsid sleep 1000 &) ; exit 0"))
			if n := strings.Count(mustRun(t, b, python(listProcesses)), "sleep"); n != 0 {
				t.Errorf("%d sleeping processes outlived their run", n)
			}
			if _, err := io.WriteString(p2.Stdin(), "alive\n"); err != nil {
				t.Fatal(err)
			}
			if out, err := io.ReadAll(p2.Stdout()); err != nil || string(out) != "alive\n" {
				t.Errorf("%q %v", out, err)
			}
			p.Kill()
			x, err := p.Wait(ctx)
			if err != nil || x.Reason != bench.ExitKilled {
				t.Errorf("killed: %+v %v", x, err)
			}
		},
		"end of context kills": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			write(t, b, "go", "", 0o644)
			done := make(chan error, 1)
			go func() {
				_, err := b.Run(ctx, Shell("rm go; setsid sleep 1000 & sleep 1000"))
				done <- err
			}()
			waitGone(t, b, "go")
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			if got := mustRun(t, b, python(listProcesses)); strings.Contains(got, "sleep") {
				t.Errorf("left: %s", got)
			}
			if _, err := b.Run(ctx, Shell("true")); !errors.Is(err, context.Canceled) {
				t.Errorf("run with an ended context: %v", err)
			}
		},
		"end of context kills what was started": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			p, err := b.Start(ctx, Shell("trap '' TERM; echo up; sleep 1000 & sleep 1000; sleep 1000"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(p.Stdout(), make([]byte, 3)); err != nil {
				t.Fatal(err)
			}
			cancel()
			if x, err := p.Wait(t.Context()); err != nil || x.Reason != bench.ExitKilled {
				t.Errorf("%+v %v", x, err)
			}
			onlyLister(t, b)
		},
	}
}
