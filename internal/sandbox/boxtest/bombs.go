package boxtest

import (
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"
)

// Both bombs go on until they are killed; neither may take the box along.
const (
	pythonBomb = "import os\nwhile True:\n try: os.fork()\n except OSError: pass"
	shellBomb  = "b() { b | b & }; while :; do (b) 2>/dev/null; done"
)

func (s suite) bombs() tests {
	goesOff := func(c bench.Command) func(*testing.T) {
		return func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			c.Limits.Wall = 500 * time.Millisecond
			begun := time.Now()
			r := run(t, b, c)
			took(t, "a bomb with 500 ms", begun, 5*time.Second)
			// An interpreter that gets no more processes may give up, or abort.
			if r.Reason != bench.ExitWallLimit && r.Reason != bench.ExitExited && r.Reason != bench.ExitSignalled {
				t.Errorf("%+v %.300s", r.Exit, r.Stderr)
			}
			healthy(t, b)
			onlyLister(t, b)
		}
	}
	return tests{
		"python": goesOff(python(pythonBomb)),
		"shell":  goesOff(Shell(shellBomb)),
		"sessions": goesOff(python(
			"import os\nwhile True:\n try:\n  if os.fork() == 0: os.setsid()\n except OSError: pass")),
		"threads": goesOff(python(`
import _thread, time
def more():
    while True:
        try: _thread.start_new_thread(more, ())
        except RuntimeError: time.sleep(0.001)
more()`)),
		"fork bomb beside a started process": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			p, err := b.Start(within(t, 20*time.Second), Shell("read x"))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Kill()
			c := python("import os\nwhile True:\n try:\n  if os.fork() == 0: os.setsid()\n except OSError: pass")
			c.Limits.Wall = 300 * time.Millisecond
			wantReason(t, run(t, b, c), bench.ExitWallLimit)
			healthy(t, b)
		},
		"another box forks meanwhile": func(t *testing.T) {
			bad, good := s.box(t, sandbox.Options{}), s.box(t, sandbox.Options{})
			bomb := python("import os\nos.write(1, b'up')\n" + pythonBomb)
			p := server(t, bad, bomb, "up")
			for range 3 {
				got := mustRun(t, good, python(`
import os
n = 0
for i in range(10):
    pid = os.fork()
    if pid == 0: os._exit(7)
    n += os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
print(n)`))
				if got != "10\n" {
					t.Errorf("beside a bomb in another box %s of 10 children were forked", got)
				}
			}
			p.Kill()
			if x, err := p.Wait(t.Context()); err != nil || x.Reason != bench.ExitKilled {
				t.Errorf("%+v %v", x, err)
			}
			healthy(t, bad)
		},
	}
}
