package supervisor_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"

	"github.com/google/go-cmp/cmp"
)

var env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}

func shell(script string) bench.Command {
	return bench.Command{Argv: []string{"/bin/sh", "-c", script}, Env: env, Limits: bench.ProcessLimits{Wall: 20 * time.Second}}
}

func python(t testing.TB, script string) bench.Command {
	t.Helper()
	const program = "/usr/bin/python3"
	if _, err := os.Stat(program); err != nil {
		t.Skipf("SKIP: %v; run as root: apt-get install python3", err)
	}
	return bench.Command{Argv: []string{program, "-I", "-S", "-c", script}, Env: env, Limits: bench.ProcessLimits{Wall: 20 * time.Second}}
}

func (b box) run(t testing.TB, c bench.Command) bench.CommandResult {
	t.Helper()
	r, err := b.Run(context.Background(), c)
	if err != nil {
		t.Fatalf("%v (said %q)", err, b.conn.Diagnosis())
	}
	return r
}

// says runs a command that must succeed and write exactly that.
func (b box) says(t testing.TB, c bench.Command, want string) {
	t.Helper()
	r := b.run(t, c)
	if got := string(r.Stdout) + string(r.Stderr); got != want || r.Code != 0 {
		t.Errorf("got %q, want %q; %+v", got, want, r.Exit)
	}
}

func TestCandidateIsAnotherUser(t *testing.T) {
	t.Parallel()
	b := open(t, spec{})
	r := b.run(t, shell("id -u; id -g; id -G; grep -E '^(Cap|NoNewPrivs)' /proc/self/status | sort; cat /proc/self/oom_score_adj; pwd; env"))
	got := strings.Split(strings.TrimSpace(string(r.Stdout)), "\n")
	id := got[0]
	want := strings.Split(id+" "+id+" "+id+" CapAmb:\t0000000000000000 CapBnd:\t00000000000000e0 CapEff:\t0000000000000000 CapInh:\t0000000000000000 CapPrm:\t0000000000000000 NoNewPrivs:\t1 1000 /w", " ")
	if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" || !strings.HasPrefix(id, "58") {
		t.Errorf("(-want +got)\n%s", diff)
	}
	b.says(t, shell("exec sh -c 'echo out >/dev/fd/1; echo err >/dev/fd/2'"), "out\nerr\n")
	if r := b.run(t, shell("exec sh -c 'exit 7'")); r.Reason != bench.ExitExited || r.Code != 7 || r.OOMKills != nil {
		t.Errorf("%+v", r.Exit)
	}
	for _, argv := range []string{"/w/absent", "/w", "/proc/1/exe"} {
		if r := b.run(t, bench.Command{Argv: []string{argv}}); r.Reason != bench.ExitNotStarted {
			t.Errorf("%s: %+v", argv, r.Exit)
		}
	}
	b.run(t, shell("mkdir -m 700 shut; mkdir none; chmod 0 none"))
	c := shell("pwd")
	c.Dir = "shut"
	b.says(t, c, "/w/shut\n")
	c.Dir = "none"
	if r := b.run(t, c); r.Reason != bench.ExitNotStarted || !strings.Contains(r.Message, "permission denied") {
		t.Errorf("%+v", r.Exit)
	}
}

func TestFileWorkIsTheCandidates(t *testing.T) {
	t.Parallel()
	b := open(t, spec{})
	ctx := t.Context()
	if err := b.Put(ctx, bench.Tree{{Path: "d/x", Data: []byte("x"), Exec: true}}); err != nil {
		t.Fatal(err)
	}
	b.says(t, shell(`for f in d d/x; do test $(stat -c %u:%g $f) = $(id -u):$(id -g) || echo $f; done; echo more >>d/x`), "")
	b.run(t, shell("umask 077; mkdir -p a/b; echo 1 >a/b/f; echo 2 >g; chmod 0 a/b/f a/b g; chmod 0 a; mkdir -m 0 /tmp/d; echo >/tmp/f; chmod 0 /tmp/f"))
	if got, err := b.ReadFile(ctx, "d/x", 10); err != nil || string(got) != "xmore\n" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := b.ReadFile(ctx, "../etc/shadow", 1<<20); err == nil {
		t.Error("a file of root was read")
	}
	x, err := b.Export(ctx, bench.ExportLimits{Files: 10, FileBytes: 1000, Bytes: 1000, Depth: 8, PathBytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	want, err := bench.NewTree([]bench.File{{Path: "a/b/f", Data: []byte("1\n")}, {Path: "d/x", Data: []byte("xmore\n"), Exec: true}, {Path: "g", Data: []byte("2\n")}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, x.Tree); diff != "" || len(x.Skipped) > 0 {
		t.Errorf("(-want +got)\n%s%v", diff, x.Skipped)
	}
	b.run(t, shell("chmod 0 a g /w"))
	if err := b.Reset(ctx, bench.Tree{{Path: "new", Data: []byte("n")}}); err != nil {
		t.Fatal(err)
	}
	b.says(t, shell("ls -A /w /tmp; cat new"), "/tmp:\n\n/w:\nnew\nn")
}

// What could outlive a command is gone before the next.
func TestNothingOutlivesASweep(t *testing.T) {
	t.Parallel()
	b := open(t, spec{})
	b.says(t, python(t, `
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
made = [libc.shmget(k, 4096, 0o1000 | m) for k, m in ((0, 0), (7, 0o600))]
made += [libc.semget(0, 1, 0o1000), libc.msgget(0, 0o1000), libc.msgget(9, 0o1666)]
librt = ctypes.CDLL("librt.so.1")
made.append(librt.mq_open(b"/q", os.O_CREAT | os.O_RDWR, 0, None))
os.open("/dev/shm/s", os.O_CREAT, 0); os.mkdir("/dev/shm/d", 0)
print(min(made) >= 0, flush=True)
for double in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.close(1); os.close(2)
            while True: time.sleep(100)
        os._exit(0)
`), "True\n")
	b.says(t, shell("ls /dev/shm /dev/mqueue; cat /proc/sysvipc/* | grep -vc key; ls /proc | grep -c '^[0-9]'; true"), "/dev/mqueue:\n\n/dev/shm:\n0\n4\n")
}

func TestProcessLimitIsExact(t *testing.T) {
	t.Parallel()
	b := open(t, spec{Options: sandbox.Options{Processes: 20}})
	count := `
import os, time
n = 1
try:
    while n < 100:
        if os.fork() == 0: time.sleep(100); os._exit(0)
        n += 1
except BlockingIOError: pass
print(n)`
	for range 2 {
		b.says(t, python(t, count), "20\n")
	}
	c := python(t, count)
	c.Limits.Processes = 5
	b.says(t, c, "5\n")
}
