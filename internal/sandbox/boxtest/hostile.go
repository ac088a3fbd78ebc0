package boxtest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"
)

func isLost(err error) bool { return errors.Is(err, bench.ErrBoxLost) }

func (s suite) hostile() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"daemon that holds stdout": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			r := run(t, b, python(`
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(0)
print("parent")`))
			if r.Reason != bench.ExitExited || string(r.Stdout) != "parent\n" || r.Wall > 5*time.Second {
				t.Errorf("%+v %q", r.Exit, r.Stdout)
			}
			if got := mustRun(t, b, python(listProcesses)); strings.Count(got, "\n") != 2 {
				t.Errorf("left beside PID 1 and the lister:\n%s", got)
			}
		},
		"daemon of a started process that holds stdout": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			ctx := within(t, 10*time.Second)
			p, err := b.Start(ctx, Shell("setsid yes & sleep 0.1"))
			if err != nil {
				t.Fatal(err)
			}
			go drain(p)
			if x, err := p.Wait(ctx); err != nil || x.Reason != bench.ExitExited && x.Reason != bench.ExitOutputLimit {
				t.Errorf("%+v %v", x, err)
			}
			healthy(t, b)
		},
		"server between runs": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			mustRun(t, b, Shell(`python3 -c '
import os, socket, time
if os.fork(): os._exit(0)
os.setsid()
l = socket.socket(); l.bind(("127.0.0.1", 7777)); l.listen(); time.sleep(1000)' >/dev/null 2>&1`))
			got := mustRun(t, b, python("import socket\ntry: socket.create_connection(('127.0.0.1', 7777)); print('alive')\nexcept OSError: print('dead')"))
			if got != "dead\n" {
				t.Error(got)
			}
		},
		"fork bomb": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			c := python("import os\nwhile True:\n try: os.fork()\n except OSError: pass")
			c.Limits.Wall = 500 * time.Millisecond
			wantReason(t, run(t, b, c), bench.ExitWallLimit)
			healthy(t, b)
		},
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
		"PID 1 stands": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			got := mustRun(t, b, python(`
import ctypes, os, signal, resource
for sig in range(1, 65):
    try: os.kill(1, sig)
    except OSError: pass
for sig in (9, 19):
    os.system("kill -%d 1" % sig)
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace(16, 1, 0, 0) == 0: print("ptrace")
import fcntl
for sig in range(1, 65):
    if libc.sigqueue(1, sig, 0) == 0 and sig not in (9, 19, 32, 33): print("sigqueue", sig)
    r, w = os.pipe()
    try:
        fcntl.fcntl(r, fcntl.F_SETOWN, 1); fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC)
        os.write(w, b"default is SIGIO")
        fcntl.fcntl(r, 10, sig); os.write(w, b"x"); print("F_SETSIG", sig)
    except OSError: pass
    os.close(r); os.close(w)
fd = os.pidfd_open(1)
info = (ctypes.c_int * 32)(11, 0, -1)
if libc.syscall(424, fd, 11, info, 0) == 0: print("pidfd siginfo")
signal.pidfd_send_signal(fd, 11)
def refused(name, f):
    try: f(); print(name)
    except (OSError, PermissionError): pass
refused("prlimit", lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (3, 3)))
refused("affinity", lambda: os.sched_setaffinity(1, {0}))
refused("scheduler", lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)))
refused("priority", lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
for f in "environ", "mem", "maps", "auxv", "stack", "syscall", "io":
    refused("read " + f, lambda: open("/proc/1/" + f, "rb").read(1))
for f in "fd", "map_files":
    refused("list " + f, lambda: os.listdir("/proc/1/" + f))
for f in "fd/0", "fd/1", "fd/2", "mem", "oom_score_adj", "comm", "timerslack_ns":
    refused("write " + f, lambda: open("/proc/1/" + f, "wb", 0).write(b"0"))
for f in "exe", "cwd", "root", "ns/net":
    refused("follow " + f, lambda: os.readlink("/proc/1/" + f))
for task in os.listdir("/proc/1/task"):
    refused("task mem", lambda: open(f"/proc/1/task/{task}/mem", "rb"))
refused("own affinity", lambda: (os.sched_setaffinity(0, os.sched_getaffinity(0)), 1/1)[0] and None)
print("done")`))
			if got != "own affinity\ndone\n" {
				t.Errorf("got through:\n%s", got)
			}
			healthy(t, b)
		},
		"kernel is not the candidate's": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			got := mustRun(t, b, python(`
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for name, flags in ("user", 0x10000000), ("mount", 0x20000), ("net", 0x40000000):
    if libc.unshare(flags) == 0: print("unshare", name)
if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0: print("mount")
if libc.chroot(b"/tmp") == 0: print("chroot")
for name, nr in ("bpf", 321), ("io_uring_setup", 425), ("keyctl", 250), ("userfaultfd", 323), ("perf_event_open", 298):
    if os.uname().machine == "x86_64" and libc.syscall(nr, 0, 0, 0, 0, 0) >= 0: print(name)
for p in "/proc/sys/kernel/core_pattern", "/proc/sys/vm/overcommit_memory", "/proc/sysrq-trigger", "/sys/kernel/x":
    try: open(p, "w").close(); print("opened", p)
    except OSError: pass
for p in "/usr/bin/python3", "/etc/passwd", "/usr/lib":
    if os.access(p, os.W_OK): print("writable", p)
try: os.mknod("/tmp/dev", 0o20666, os.makedev(1, 1)); print("mknod")
except OSError: pass
try: os.setuid(0); print("root")
except OSError: pass
print(os.getuid() != 0)`))
			if got != "True\n" {
				t.Errorf("got through:\n%s", got)
			}
		},
		"nothing outlives a sweep": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			mustRun(t, b, python(`
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
assert libc.shmget(7, 4096, 0o1666) >= 0 and libc.semget(7, 1, 0o1666) >= 0 and libc.msgget(7, 0o1666) >= 0
open("/dev/shm/left", "w").write("x"); os.makedirs("/dev/shm/a/b")
librt = ctypes.CDLL("librt.so.1"); assert librt.mq_open(b"/left", os.O_CREAT | os.O_RDWR, 0o600, None) >= 0`))
			got := mustRun(t, b, python(`
import os
print(os.listdir("/dev/shm"), os.listdir("/dev/mqueue"))
for k in "shm", "sem", "msg": print(len(open("/proc/sysvipc/" + k).readlines()))`))
			if got != "[] []\n1\n1\n1\n" {
				t.Error(got)
			}
		},
		"reset leaves nothing": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			mustRun(t, b, python(`
import os
os.makedirs("a/b"); open("a/b/f", "w"); os.chmod("a/b", 0); os.chmod("a", 0o111)
os.mkfifo("fifo"); os.symlink("/etc", "link"); open(b"\xff\n", "w"); open("/tmp/.hidden", "w"); os.mkdir("/tmp/d", 0)
for i in range(300): open(f"many{i}", "w")
os.chdir("/tmp")
for i in range(1500):
    os.mkdir("deep"); os.chdir("deep")
os.chmod("/w", 0)
if os.fork() == 0:
    while True: pass`))
			tree, err := bench.NewTree([]bench.File{{Path: "new/x.py", Data: []byte("1")}, {Path: "run", Exec: true}})
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Reset(t.Context(), tree); err != nil {
				t.Fatal(err)
			}
			got := mustRun(t, b, Shell("find . /tmp -printf '%p %m\n' | sort"))
			if got != ". 755\n./new 755\n./new/x.py 644\n./run 755\n/tmp 1777\n" {
				t.Error(got)
			}
		},
	}
}

func drain(p bench.Process) {
	buf := make([]byte, 32<<10)
	for {
		if _, err := p.Stdout().Read(buf); err != nil {
			return
		}
	}
}
