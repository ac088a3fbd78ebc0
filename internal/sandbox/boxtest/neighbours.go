package boxtest

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/sandbox"
)

// occupy takes one of everything that has a name.
const occupy = `
import ctypes, os, socket, sys, time
name = sys.argv[1]
libc, librt = ctypes.CDLL(None, use_errno=True), ctypes.CDLL("librt.so.1")
assert libc.shmget(4711, 4096, 0o1666) >= 0 and libc.semget(4711, 1, 0o1666) >= 0 and libc.msgget(4711, 0o1666) >= 0
assert librt.mq_open(b"/" + name.encode(), os.O_CREAT | os.O_RDWR, 0o666, None) >= 0
for d in "/dev/shm", "/tmp", "/w": open(d + "/" + name, "w")
a = socket.socket(socket.AF_UNIX); a.bind("\0" + name); a.listen()
s = socket.socket(); s.bind(("127.0.0.1", 7878)); s.listen()
print("ready", flush=True)
time.sleep(1000)`

const lookAround = `
import os, socket, sys
name = sys.argv[1]
for d in "/dev/shm", "/dev/mqueue", "/tmp", "/w":
    if name in os.listdir(d): print(d)
for k in "shm", "sem", "msg":
    if len(open("/proc/sysvipc/" + k).readlines()) > 1: print(k)
for family, address in (socket.AF_UNIX, "\0" + name), (socket.AF_INET, ("127.0.0.1", 7878)):
    try: socket.socket(family).connect(address); print(address)
    except OSError: pass
for p in os.listdir("/proc"):
    try:
        if p.isdigit() and int(p) != os.getpid() and name.encode() in open(f"/proc/{p}/cmdline", "rb").read(): print("process", p)
    except OSError: pass
print("done")`

func (s suite) neighbours() tests {
	return tests{
		"parallel boxes see nothing of each other": func(t *testing.T) {
			var wg sync.WaitGroup
			for i := range 4 {
				b := s.box(t, sandbox.Options{})
				wg.Go(func() {
					for range 3 {
						r, err := b.Run(t.Context(), Shell(fmt.Sprintf("ls; touch box%d /tmp/box%d; ls /tmp; ls /proc | grep -c '^[0-9]'", i, i)))
						if err != nil || strings.Count(string(r.Stdout), "box") > 2 || strings.Contains(string(r.Stdout), fmt.Sprintf("box%d", (i+1)%4)) {
							t.Errorf("box %d: %q %v", i, r.Stdout, err)
						}
					}
				})
			}
			wg.Wait()
		},
		"names of another box": func(t *testing.T) {
			name := fmt.Sprintf("assay-boxtest-%d-%d", os.Getpid(), time.Now().UnixNano())
			server(t, s.box(t, sandbox.Options{}), python(occupy, name), "ready\n")
			other := s.box(t, sandbox.Options{})
			wantRun(t, other, python(lookAround, name), "done\n")
			server(t, other, python(occupy, name), "ready\n") // all the names are free there
		},
		"names of a box on the host": func(t *testing.T) {
			name := fmt.Sprintf("assay-boxtest-%d-%d", os.Getpid(), time.Now().UnixNano())
			server(t, s.box(t, sandbox.Options{}), python(occupy, name), "ready\n")
			for _, dir := range []string{"/dev/shm", "/dev/mqueue", "/tmp"} {
				if _, err := os.Lstat(dir + "/" + name); err == nil {
					t.Errorf("the host has %s/%s", dir, name)
				}
			}
			if table, err := os.ReadFile("/proc/net/unix"); err == nil && strings.Contains(string(table), name) {
				t.Error("the host has the box's abstract socket")
			}
			for _, kind := range []string{"shm", "sem", "msg"} {
				if table, err := os.ReadFile("/proc/sysvipc/" + kind); err == nil && strings.Contains(string(table), " 4711 ") {
					t.Errorf("the host has the box's System V %s", kind)
				}
			}
		},
	}
}
