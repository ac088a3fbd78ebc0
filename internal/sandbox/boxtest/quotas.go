package boxtest

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"assay/internal/bench"
	"assay/internal/sandbox"
)

// eat makes processes that hold memory at the same time, each below the limit
// that they exceed together, and prints how many of them held it.
const eat = `
import os, sys
count, size = int(sys.argv[1]), int(sys.argv[2]) << 20
stay, go = os.pipe()
told = []
for i in range(count):
    r, w = os.pipe()
    if os.fork() == 0:
        os.close(go)
        held = b"x" * size
        os.write(w, b"h"); os.close(w)
        os.read(stay, 1)
        os._exit(0)
    os.close(w)
    told.append(r)
print(sum(len(os.read(r, 1)) for r in told))`

func (s suite) quotas() tests {
	return tests{
		"memory of the box": func(t *testing.T) {
			b := s.box(t, sandbox.Options{MemoryBytes: 96 << 20})
			if got := mustRun(t, b, python("try: bytearray(150<<20); print('got it')\nexcept MemoryError: print('refused')")); got != "refused\n" && !s.enforces.Memory {
				t.Errorf("not even a process is held to the box's limit: %s", got)
			}
			r := run(t, b, python(eat, "6", "50"))
			// One that said that it held its share may have been killed for the next one's.
			all := r.Reason == bench.ExitExited && string(r.Stdout) == "6\n" && (r.OOMKills == nil || *r.OOMKills == 0)
			declared(t, "memory", s.enforces.Memory, !all)
			if s.enforces.Memory && (r.OOMKills == nil || *r.OOMKills == 0) {
				t.Errorf("nothing says that memory ran out: %+v %s%s", r.Exit, r.Stdout, r.Stderr)
			}
			healthy(t, b)
			// The next command is not blamed for it.
			r = run(t, b, python(eat, "1", "20"))
			if r.Reason != bench.ExitExited || string(r.Stdout) != "1\n" || s.enforces.Memory != (r.OOMKills != nil) || r.OOMKills != nil && *r.OOMKills > 0 {
				t.Errorf("afterwards: %+v %s", r.Exit, r.Stdout)
			}
		},
		"memory of one process among others": func(t *testing.T) {
			b := s.box(t, sandbox.Options{MemoryBytes: 96 << 20})
			r := run(t, b, python("import os\nos.write(1, b'up')\nheld = b'x' * (200 << 20)\nos.write(1, b'held')"))
			if string(r.Stdout) != "up" || r.Reason == bench.ExitExited && r.Code == 0 {
				t.Errorf("200 MiB in a box of 96: %+v %s", r.Exit, r.Stdout)
			}
			healthy(t, b)
		},
		"disk": func(t *testing.T) {
			b := s.box(t, sandbox.Options{DiskBytes: 2 << 20, TmpBytes: 1 << 20})
			if !b.Environment().Enforces.Disk {
				t.Fatal("every kind must enforce a disk limit")
			}
			r := run(t, b, Shell("for f in big /tmp/big /dev/shm/big; do head -c 9000000 /dev/zero >$f; stat -c %s $f; done; echo x >/dev/y; echo x >/etc/y; echo x >/y"))
			if string(r.Stdout) != "2097152\n1048576\n1048576\n" {
				t.Errorf("%s%s", r.Stdout, r.Stderr)
			}
			if err := b.WriteFile(t.Context(), "more", make([]byte, 10_000), 0o644); err == nil {
				t.Error("a file went onto a full disk")
			}
			if err := b.Reset(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			healthy(t, b)
		},
		"disk, by one file and by small ones": func(t *testing.T) {
			b := s.box(t, sandbox.Options{DiskBytes: 4 << 20})
			got := mustRun(t, b, python(`
import os
n = 0
try:
    while n < 5000:
        with open(f"f{n}", "wb", 0) as f: f.write(b"x" * 4096)
        n += 1
except OSError as e: print(e.errno)
try:
    fd = os.open("big", os.O_CREAT | os.O_RDWR); os.posix_fallocate(fd, 0, 64 << 20); print("allocated")
except OSError as e: print(e.errno)
print(n <= 1024)`))
			if got != "28\n28\nTrue\n" {
				t.Error(got)
			}
		},
		"inodes": func(t *testing.T) {
			b := s.box(t, sandbox.Options{Inodes: 100})
			got := mustRun(t, b, python("n=0\ntry:\n for n in range(300): open(f'f{n}','w').close()\nexcept OSError: pass\nprint(n)"))
			if all := got == "299\n"; all == b.Environment().Enforces.Inodes {
				t.Errorf("the box declares inodes enforced: %v, and %s files were made", b.Environment().Enforces.Inodes, got)
			}
		},
		"processes": func(t *testing.T) {
			b := s.box(t, sandbox.Options{Processes: 20})
			if !b.Environment().Enforces.Processes {
				t.Fatal("every kind must enforce a process limit")
			}
			got := mustRun(t, b, python(`
import os, time
n = 0
try:
    while n < 200:
        if os.fork() == 0: time.sleep(100); os._exit(0)
        n += 1
except BlockingIOError: pass
print(n)`))
			var n int
			if _, err := fmt.Sscan(got, &n); err != nil || n < 15 || n > 24 {
				t.Errorf("with 20 processes allowed, %s were forked", got)
			}
			healthy(t, b)
		},
		"threads": func(t *testing.T) {
			b := s.box(t, sandbox.Options{Processes: 20})
			got := mustRun(t, b, python(`
import _thread, time
n = 0
try:
    while n < 200:
        _thread.start_new_thread(time.sleep, (100,))
        n += 1
except RuntimeError: pass
print(n)`))
			if n, err := strconv.Atoi(strings.TrimSpace(got)); err != nil || n < 12 || n > 24 {
				t.Errorf("with 20 processes allowed, %s threads were started", got)
			}
			healthy(t, b)
		},
	}
}

// boxCPU runs alone: whether more than the limit can be had shows only while
// there is more. Absence is shown by one try of several; enforcement must hold
// at the first.
func (s suite) boxCPU(t *testing.T) {
	if n := runtime.NumCPU(); n < 2 {
		s.skip(t, fmt.Sprintf("the limit on all CPU of a box is not tested on %d core; run this on a machine with two", n))
	}
	const cpus, most = 0.25, 0.35
	b := s.box(t, sandbox.Options{CPUs: cpus})
	c := python(`
import os, time
end, pids = time.monotonic() + 1.5, []
for i in range(8):
    pid = os.fork()
    if pid == 0:
        while time.monotonic() < end: pass
        os._exit(0)
    pids.append(pid)
for pid in pids: os.waitpid(pid, 0)`)
	var used float64
	for range 5 {
		r := run(t, b, c)
		wantReason(t, r, bench.ExitExited)
		used = r.CPU.Seconds() / r.Wall.Seconds()
		if s.enforces.CPU || used > most {
			break
		}
	}
	t.Logf("8 burners used %.2f cores of %.2f", used, cpus)
	declared(t, "cpu", s.enforces.CPU, used <= most)
}
