package boxtest

import (
	"testing"

	"assay/internal/bench"
	"assay/internal/sandbox"
)

// litter leaves what outlives a process.
const litter = `
import ctypes, os
libc, librt = ctypes.CDLL(None, use_errno=True), ctypes.CDLL("librt.so.1")
for key in 7, 8:
    assert libc.shmget(key, 4096, 0o1600) >= 0 and libc.semget(key, 3, 0o1000) >= 0
    q = libc.msgget(key, 0o1666)
    assert q >= 0 and libc.msgsnd(q, ctypes.create_string_buffer(b"\1" + b"\0" * 7 + b"text"), 4, 0) == 0
os.makedirs("/dev/shm/a/b"); open("/dev/shm/a/b/left", "w").write("x"); os.chmod("/dev/shm/a/b", 0); os.chmod("/dev/shm/a", 0)
open("/dev/shm/.hidden", "w"); os.symlink("/etc", "/dev/shm/link"); os.mkfifo("/dev/shm/fifo")
assert librt.mq_open(b"/left", os.O_CREAT | os.O_RDWR, 0, None) >= 0
for d in "/dev/shm", "/dev/mqueue":
    try: os.chmod(d, 0)
    except OSError: pass
print("left", flush=True)`

const seeLitter = `
import os
print(os.listdir("/dev/shm"), os.listdir("/dev/mqueue"))
for k in "shm", "sem", "msg": print(len(open("/proc/sysvipc/" + k).readlines()))`

const noLitter = "[] []\n1\n1\n1\n"

func (s suite) leftovers() tests {
	return tests{
		"a run": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			wantRun(t, b, python(litter), "left\n")
			wantRun(t, b, python(seeLitter), noLitter)
			wantRun(t, b, python(litter), "left\n") // nothing is in the way of the next one
		},
		"a sweep": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			server(t, b, python(litter+"\nimport time; time.sleep(1000)"), "left\n")
			if err := b.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantRun(t, b, python(seeLitter), noLitter)
		},
		"an export": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			server(t, b, python(litter+"\nopen('/w/kept', 'w').write('k')\nprint('x', flush=True)\nimport time; time.sleep(1000)"), "left\nx\n")
			x, err := b.Export(t.Context(), bench.DefaultExportLimits())
			if err != nil || len(x.Tree) != 1 {
				t.Errorf("%+v %v", x, err)
			}
			wantRun(t, b, python(seeLitter), noLitter)
			onlyLister(t, b)
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
