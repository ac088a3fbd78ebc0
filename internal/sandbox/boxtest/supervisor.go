package boxtest

import (
	"testing"

	"assay/internal/sandbox"
)

// attack begins every attack on PID 1; what it prints got through. Of another
// uid some calls may succeed, for they cannot reach PID 1.
const attack = `
import ctypes, fcntl, os, resource, signal, sys
same = sys.argv[1] == "same"
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
x86 = os.uname().machine == "x86_64"
def refused(name, f):
    try: f(); print(name)
    except OSError: pass
def call(name, nr, *args):
    ctypes.set_errno(0)
    if libc.syscall(nr, *args) >= 0: print(name)
threads = [int(n) for n in os.listdir("/proc/1/task")]
`

func (s suite) supervisor() tests {
	stands := func(source string) func(*testing.T) {
		return func(t *testing.T) {
			who := "same"
			if s.enforces.UID {
				who = "other"
			}
			b := s.box(t, sandbox.Options{})
			wantRun(t, b, python(attack+source+"\nprint('done')", who), "done\n")
			healthy(t, b)
			if err := b.Sweep(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	return tests{
		"signals": stands(`
for sig in range(1, 65):
    try: os.kill(1, sig)
    except OSError: pass
    for tid in threads:
        libc.syscall(234 if x86 else 131, 1, tid, sig) # tgkill
        libc.syscall(200 if x86 else 130, tid, sig) # tkill
for sig in (9, 19):
    os.system("kill -%d 1 2>/dev/null" % sig)
try: os.kill(-1, signal.SIGCONT)
except OSError: pass`),
		"signals that look like the kernel's": stands(`
for sig in range(1, 65):
    if libc.sigqueue(1, sig, 0) == 0 and sig not in (9, 19, 32, 33): print("sigqueue", sig)
info = (ctypes.c_int * 32)(11, 0, -1)
try: fd = os.pidfd_open(1)
except OSError: fd = -1
call("pidfd siginfo", 424, fd, 11, info, 0)
try: signal.pidfd_send_signal(fd, 11)
except OSError: pass`),
		"signals of a file": stands(`
for sig in range(1, 65):
    r, w = os.pipe()
    try:
        fcntl.fcntl(r, fcntl.F_SETOWN, 1); fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC)
        os.write(w, b"default is SIGIO")
        fcntl.fcntl(r, 10, sig); os.write(w, b"x")
        if same: print("F_SETSIG", sig)
    except OSError: pass
    os.close(r); os.close(w)`),
		"limits and scheduling": stands(`
for name in dir(resource):
    if name.startswith("RLIMIT_"):
        refused("prlimit " + name, lambda: resource.prlimit(1, getattr(resource, name), (3, 3)))
for tid in [1] + threads:
    refused("affinity", lambda: os.sched_setaffinity(tid, {0}))
    refused("scheduler", lambda: os.sched_setscheduler(tid, os.SCHED_IDLE, os.sched_param(0)))
    refused("parameters", lambda: os.sched_setparam(tid, os.sched_param(0)))
    refused("priority", lambda: os.setpriority(os.PRIO_PROCESS, tid, 19))
    call("ioprio", 251 if x86 else 30, 1, tid, 3 << 13)
if same: refused("priority of the user", lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19))`),
		"memory": stands(`
if libc.ptrace(16, 1, 0, 0) == 0: print("attach")
if libc.ptrace(0x4206, 1, 0, 0) == 0: print("seize")
buf = ctypes.create_string_buffer(8)
vec = (ctypes.c_size_t * 2)(ctypes.addressof(buf), 8)
far = (ctypes.c_size_t * 2)(0x400000, 8)
call("process_vm_readv", 310 if x86 else 270, 1, vec, 1, far, 1, 0)
call("process_vm_writev", 311 if x86 else 271, 1, vec, 1, far, 1, 0)
try: fd = os.pidfd_open(1)
except OSError: fd = -1
call("pidfd_getfd", 438, fd, 0, 0)
call("process_madvise", 440, fd, far, 1, 21, 0)
call("kcmp", 312 if x86 else 272, 1, os.getpid(), 0, 0, 0)`),
		"/proc/1": stands(`
for f in "environ", "mem", "maps", "smaps", "auxv", "stack", "syscall", "io", "pagemap", "personality":
    refused("read " + f, lambda: open("/proc/1/" + f, "rb").read(1))
for f in "fd", "fdinfo", "map_files", "root", "cwd":
    refused("list " + f, lambda: os.listdir("/proc/1/" + f))
for f in "fd/0", "fd/1", "fd/2", "mem", "oom_score_adj", "comm", "timerslack_ns", "clear_refs", "coredump_filter", "loginuid", "autogroup", "sched":
    refused("write " + f, lambda: os.write(os.open("/proc/1/" + f, os.O_WRONLY), b"0"))
for f in "exe", "cwd", "root", "ns/net", "ns/user":
    refused("follow " + f, lambda: os.readlink("/proc/1/" + f))
for tid in threads:
    for f in "mem", "fd", "environ":
        refused("task " + f, lambda: os.close(os.open(f"/proc/1/task/{tid}/{f}", os.O_RDONLY)) or (os.listdir(f"/proc/1/task/{tid}/fd") if f == "fd" else 0))
    refused("task comm", lambda: os.write(os.open(f"/proc/1/task/{tid}/comm", os.O_WRONLY), b"x"))`),
		"its own process may be tuned": func(t *testing.T) {
			wantRun(t, s.box(t, sandbox.Options{}), python(`
import os, resource
os.sched_setaffinity(0, os.sched_getaffinity(0))
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
print("own")`), "own\n")
		},
	}
}
