package supervisor_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"
)

// mostThreads is what the supervisor may grow to, whatever the candidate and the
// host do at once. A Go program keeps every thread that it ever had.
const mostThreads = 40

func (b box) threads(t testing.TB) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.conn.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "\nThreads:\t")
	n, err := strconv.Atoi(strings.SplitN(rest, "\n", 2)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// group reads a file of a cgroup of the supervisor.
func (b box) group(t testing.TB, controller, file string) string {
	t.Helper()
	own, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", b.conn.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(own)) {
		if f := strings.SplitN(strings.TrimSpace(line), ":", 3); len(f) == 3 && f[1] == controller {
			data, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", controller, f[2], file))
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimSpace(string(data))
		}
	}
	t.Fatalf("no %s cgroup in %q", controller, own)
	return ""
}

const bomb = `
import os, signal
for s in range(1, 65):
    try: signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError): pass
os.write(1, b"up")
while True:
    try:
        if os.fork() == 0: os.setsid()
    except OSError: pass`

// Bombs that fill the candidate's share, signals to everybody, and as many
// requests as the host may ever have under way.
func TestStorm(t *testing.T) {
	const processes = 64
	b := open(t, spec{Options: sandbox.Options{Processes: processes}, pids: processes + 128})
	ctx := t.Context()
	p, err := b.Start(ctx, python(t, bomb))
	if err != nil {
		t.Fatal(err)
	}
	up := make([]byte, 2)
	if _, err := p.Stdout().Read(up); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 60 {
		wg.Go(func() {
			c := shell("kill -9 -1")
			c.Limits.Wall = 300 * time.Millisecond
			q, err := b.Start(ctx, c)
			if err == nil {
				_, err = q.Wait(ctx)
			}
			if err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := b.ListFiles(ctx, "", 100); err != nil {
				t.Error(err)
			}
			if err := b.Put(ctx, bench.Tree{{Path: "f", Data: make([]byte, 100_000)}}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	p.Kill()
	if _, err := p.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c := python(t, bomb)
		c.Limits.Wall = 300 * time.Millisecond
		if r := b.run(t, c); r.Reason != bench.ExitWallLimit {
			t.Errorf("%+v", r.Exit)
		}
	}
	b.says(t, shell("ls /proc | grep -c '^[0-9]'"), "4\n")
	if n := b.threads(t); n > mostThreads {
		t.Errorf("the supervisor has %d threads", n)
	} else {
		t.Logf("the supervisor has %d threads", n)
	}
	if got := b.group(t, "pids", "pids.events"); got != "max 0" {
		t.Errorf("the limit on all processes of the box was reached: %q", got)
	}
}

// A process that stops all others of its uid stops no start for longer than that
// start's own limit.
func TestStopStorm(t *testing.T) {
	t.Parallel()
	b := open(t, spec{})
	p, err := b.Start(t.Context(), python(t, "import os\nos.write(1, b'up')\nwhile True:\n try: os.kill(-1, 19)\n except OSError: pass"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Stdout().Read(make([]byte, 2)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			c := shell("exit 3")
			c.Limits.Wall = 200 * time.Millisecond
			if r := b.run(t, c); r.Reason != bench.ExitWallLimit && r.Code != 3 {
				t.Errorf("%+v", r.Exit)
			}
		})
	}
	wg.Wait()
	p.Kill()
	if x, err := p.Wait(t.Context()); err != nil || x.Reason != bench.ExitKilled {
		t.Errorf("%+v %v", x, err)
	}
	b.says(t, shell("ls /proc | grep -c '^[0-9]'"), "4\n")
}

// More processes of the host than a box takes at once are refused, not lost.
func TestManyProcessesOfTheHost(t *testing.T) {
	b := open(t, spec{Options: sandbox.Options{Processes: 64}, pids: 64 + 128})
	var refused, running int
	var all []bench.Process
	for range 100 {
		p, err := b.Start(t.Context(), shell("echo; read x"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	for _, p := range all { // each runs or has ended, as its stdout tells
		if n, _ := p.Stdout().Read(make([]byte, 1)); n == 1 {
			running++
		}
	}
	for _, p := range all {
		_ = p.Stdin().Close()
		if x, err := p.Wait(t.Context()); err != nil {
			t.Fatal(err)
		} else if x.Reason == bench.ExitNotStarted && strings.Contains(x.Message, "processes of the host") {
			refused++
		}
	}
	if running < 48 || running > 51 || running+refused != 100 || b.threads(t) > mostThreads {
		t.Errorf("%d of 100 ran and %d were refused; %d threads", running, refused, b.threads(t))
	}
	if got := b.group(t, "pids", "pids.events"); got != "max 0" {
		t.Errorf("the limit on all processes of the box was reached: %q", got)
	}
}

// The box ends in a bounded time while a bomb goes off.
func TestDeadlineInAStorm(t *testing.T) {
	b := open(t, spec{Options: sandbox.Options{Processes: 64, Deadline: 500 * time.Millisecond}, pids: 64 + 128})
	begun := time.Now()
	if _, err := b.Run(context.Background(), python(t, bomb)); err == nil || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

const eat = `
import os, signal, sys, time
kids = []
for _ in range(int(sys.argv[1])):
    pid = os.fork()
    if pid == 0:
        held = [bytearray(1 << 20) for _ in range(int(sys.argv[2]))]
        time.sleep(0.3)
        os._exit(0)
    kids.append(pid)
print(sum(os.waitpid(k, 0)[1] == 0 for k in kids))`

func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	b := open(t, spec{memory: 128 << 20})
	if !b.CountsOOM() {
		t.Fatal("no counter was found")
	}
	eater := func(kids, each int) bench.Command {
		c := python(t, eat)
		c.Argv = append(c.Argv, strconv.Itoa(kids), strconv.Itoa(each))
		return c
	}
	kills := func(r bench.CommandResult) int {
		t.Helper()
		if r.OOMKills == nil {
			t.Fatalf("kills are not known: %+v", r.Exit)
		}
		return *r.OOMKills
	}
	if r := b.run(t, eater(4, 10)); kills(r) != 0 || string(r.Stdout) != "4\n" {
		t.Errorf("enough: %+v %s", r.Exit, r.Stdout)
	}
	if r := b.run(t, eater(8, 40)); r.Reason != bench.ExitExited || kills(r) == 0 {
		t.Errorf("children: %+v %s", r.Exit, r.Stdout)
	}
	alone := python(t, "held = [bytearray(1 << 20) for _ in range(400)]")
	if r := b.run(t, alone); r.Reason != bench.ExitMemoryLimit || kills(r) != 1 || r.Code != -1 || r.Signal != 9 {
		t.Errorf("alone: %+v", r.Exit)
	}
	below := shell(`python3 -I -S -c "held = [bytearray(1 << 20) for _ in range(400)]"; echo $?; exit 137`)
	if r := b.run(t, below); r.Reason != bench.ExitExited || r.Code != 137 || kills(r) != 1 {
		t.Errorf("below a shell: %+v %s", r.Exit, r.Stdout)
	}
	for script, want := range map[string]bench.ExitReason{"kill -9 $$": bench.ExitSignalled, "exit 137": bench.ExitExited} {
		if r := b.run(t, shell(script)); r.Reason != want || kills(r) != 0 {
			t.Errorf("%s: %+v", script, r.Exit)
		}
	}
}
