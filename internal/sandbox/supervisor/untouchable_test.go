package supervisor_test

import (
	"context"
	"testing"

	"assay/internal/bench"
)

// touches tries everything that reaches another process, first on a child of its
// own, where most of it works, then on every thread of the supervisor. It prints
// what did not fail there.
const touches = `
import ctypes, os, resource, time
libc = ctypes.CDLL(None, use_errno=True)
def raw(*a): return libc.syscall(*a) if os.uname().machine == "x86_64" else -1
def touch(pid):
    done = []
    def must(name, call):
        try:
            r = call()
        except OSError:
            return
        if r != -1: done.append("%s gave %s" % (name, r))
    for tid in sorted(map(int, os.listdir("/proc/%d/task" % pid))):
        # Nobody is hurt by the signal 0, a child that lives on by 18.
        for sig in (0, 9, 19, 34) if pid == 1 else (0, 18):
            must("kill %d" % sig, lambda: os.kill(tid, sig))
        must("tgkill", lambda: raw(234, pid, tid, 0))
        must("prlimit", lambda: resource.prlimit(tid, resource.RLIMIT_NOFILE))
        must("prlimit set", lambda: resource.prlimit(tid, resource.RLIMIT_NOFILE, (9, 9)))
        must("sched_setaffinity", lambda: os.sched_setaffinity(tid, {0}))
        must("setpriority", lambda: os.setpriority(os.PRIO_PROCESS, tid, 19))
        must("sched_setscheduler", lambda: os.sched_setscheduler(tid, os.SCHED_BATCH, os.sched_param(0)))
        must("ioprio_set", lambda: raw(251, 1, tid, 0x6000))
        buf = ctypes.create_string_buffer(64)
        iov = (ctypes.c_size_t * 2)(ctypes.addressof(buf), 64)
        must("process_vm_readv", lambda: raw(310, tid, iov, 1, iov, 1, 0))
        for p in "/proc/%d/" % tid, "/proc/%d/task/%d/" % (pid, tid):
            for name in "mem", "environ", "maps", "auxv":
                must("read " + p + name, lambda: os.open(p + name, os.O_RDONLY))
            for name in "mem", "oom_score_adj", "coredump_filter", "clear_refs":
                must("write " + p + name, lambda: os.open(p + name, os.O_WRONLY))
            for name in "fd", "map_files":
                must("list " + p + name, lambda: len(os.listdir(p + name)))
            for name in "root", "cwd", "exe", "fd/0", "fd/1", "ns/mnt":
                must("follow " + p + name, lambda: os.readlink(p + name))
                must("open " + p + name, lambda: os.open(p + name, os.O_PATH))
        p = raw(434, pid, 0)
        must("pidfd_send_signal", lambda: raw(424, p, 0, 0, 0))
        must("pidfd_getfd", lambda: raw(438, p, 0, 0))
        must("ptrace seize", lambda: libc.ptrace(0x4206, tid, 0, 0))
        must("ptrace attach", lambda: libc.ptrace(16, tid, 0, 0))
    return done
child = os.fork()
if child == 0:
    while True: time.sleep(100)
own = touch(child)
if len(own) < 35: print("of a child only:", own)
for line in touch(1): print(line)
print("done")
`

// Work on files goes on meanwhile, so that the thread that does it is tried too.
func TestCandidateCannotTouchPID1(t *testing.T) {
	t.Parallel()
	b := open(t, spec{})
	stop, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for stop.Err() == nil {
			if _, err := b.ListFiles(context.Background(), "", 10); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	c := python(t, touches)
	for range 3 {
		b.says(t, c, "done\n")
	}
	cancel()
	<-ended
	if err := b.Put(t.Context(), bench.Tree{{Path: "f"}}); err != nil {
		t.Error(err)
	}
}
