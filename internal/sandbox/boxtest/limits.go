package boxtest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"
)

func (s suite) limits() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"wall": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			c := Shell("echo begun; trap '' TERM INT HUP; sleep 1000 & setsid sleep 1000 & while :; do sleep 1; done")
			c.Limits.Wall = 300 * time.Millisecond
			r := run(t, b, c)
			wantReason(t, r, bench.ExitWallLimit)
			if r.Wall < c.Limits.Wall || r.Wall > 5*time.Second || string(r.Stdout) != "begun\n" || r.Code != -1 {
				t.Errorf("%+v %q", r.Exit, r.Stdout)
			}
			if got := mustRun(t, b, python(listProcesses)); strings.Contains(got, "sleep") {
				t.Errorf("left: %s", got)
			}
		},
		"cpu": func(t *testing.T) {
			c := python("while True: pass")
			c.Limits.CPU = time.Second
			r := run(t, s.box(t, sandbox.Options{}), c)
			wantReason(t, r, bench.ExitCPULimit)
			// The kernel counts the limit in ticks and the usage more finely: on a busy
			// machine they differ by a tenth and more.
			if r.CPU < 500*time.Millisecond || r.CPU > 3*time.Second {
				t.Errorf("%+v", r.Exit)
			}
		},
		"cpu, signal caught": func(t *testing.T) {
			c := python("import signal\nsignal.signal(signal.SIGXCPU, lambda *a: None)\nwhile True: pass")
			c.Limits.CPU = time.Second
			wantReason(t, run(t, s.box(t, sandbox.Options{}), c), bench.ExitCPULimit)
		},
		"limits are hard": func(t *testing.T) {
			got := mustRun(t, s.box(t, sandbox.Options{}), python(`
import resource
for name in "CPU", "NPROC", "NOFILE", "CORE", "AS":
    soft, hard = resource.getrlimit(getattr(resource, "RLIMIT_" + name))
    try: resource.setrlimit(getattr(resource, "RLIMIT_" + name), (hard + 10, hard + 10)); print(name, "raised")
    except (ValueError, OSError): pass
print(resource.getrlimit(resource.RLIMIT_CORE), resource.getrlimit(resource.RLIMIT_NOFILE))`))
			if got != "(0, 0) (256, 256)\n" {
				t.Error(got)
			}
		},
		"output": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			for name, c := range map[string]bench.Command{
				"yes":           Shell("exec yes"),
				"stderr":        Shell("exec yes >&2"),
				"both streams":  Shell("yes >&2 & exec yes"),
				"one huge line": Shell("exec tr '\\0' x </dev/zero"),
			} {
				c.Limits.OutputBytes, c.Limits.KeepBytes = 1<<20, 4096
				r := run(t, b, c)
				wantReason(t, r, bench.ExitOutputLimit)
				if len(r.Stdout) > 4096 || len(r.Stderr) > 4096 {
					t.Errorf("%s: %d and %d bytes were kept", name, len(r.Stdout), len(r.Stderr))
				}
				if n := max(r.StdoutBytes, r.StderrBytes); n <= 1<<20 || n > 2<<20 {
					t.Errorf("%s: %d bytes counted", name, n)
				}
			}
			healthy(t, b)
		},
		"output kept": func(t *testing.T) {
			c := python("print('head'); print('x'*100_000); print('tail')")
			c.Limits.KeepBytes = 1000
			r := run(t, s.box(t, sandbox.Options{}), c)
			if r.Code != 0 || r.StdoutBytes != 100_011 || len(r.Stdout) > 1000 || !bytes.HasPrefix(r.Stdout, []byte("head\n")) ||
				!bytes.HasSuffix(r.Stdout, []byte("x\ntail\n")) || !bytes.Contains(r.Stdout, []byte("bytes left out")) {
				t.Errorf("%+v %.40q…%.40q", r.Exit, r.Stdout, r.Stdout[max(0, len(r.Stdout)-40):])
			}
		},
		"file size": func(t *testing.T) {
			c := Shell("head -c 2000000 /dev/zero >big; echo $?; stat -c %s big")
			c.Limits.FileBytes = 1_000_000
			got := mustRun(t, s.box(t, sandbox.Options{}), c)
			if !strings.HasSuffix(got, "\n1000000\n") || strings.HasPrefix(got, "0\n") {
				t.Error(got)
			}
		},
		"open files": func(t *testing.T) {
			c := python("fs=[]\ntry:\n while True: fs.append(open('/dev/null'))\nexcept OSError as e: print(e.errno, len(fs))")
			c.Limits.OpenFiles = 64
			if got := mustRun(t, s.box(t, sandbox.Options{}), c); !strings.HasPrefix(got, "24 6") {
				t.Error(got)
			}
		},
		"memory of a process": func(t *testing.T) {
			c := python("try: bytearray(300<<20); print('got it')\nexcept MemoryError: print('refused')")
			c.Limits.MemoryBytes = 200 << 20
			if got := mustRun(t, s.box(t, sandbox.Options{}), c); got != "refused\n" {
				t.Error(got)
			}
		},
		"memory of the box": func(t *testing.T) {
			b := s.box(t, sandbox.Options{MemoryBytes: 256 << 20})
			if b.Environment().Enforces.Memory {
				t.Fatal("the suite does not know how to check a memory limit of the whole box yet")
			}
			c := python("try: bytearray(300<<20); print('got it')\nexcept MemoryError: print('refused')")
			if got := mustRun(t, b, c); got != "refused\n" {
				t.Errorf("not even a process is held to the box's limit: %s", got)
			}
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
		"no network": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			if !b.Environment().Enforces.Network {
				t.Fatal("every kind must cut the network off")
			}
			got := mustRun(t, b, python(`
import socket, threading
s = socket.socket(); s.settimeout(2)
try: s.connect(("1.1.1.1", 53)); print("outside")
except OSError as e: print("refused")
l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen()
c = socket.create_connection(l.getsockname()); c.sendall(b"loopback"); p, _ = l.accept(); print(p.recv(20).decode())
for family in 40, 17, 38:
    try: socket.socket(family, socket.SOCK_STREAM); print("family", family)
    except OSError: pass
print(socket.gethostbyname("localhost"))`))
			if got != "refused\nloopback\n127.0.0.1\n" {
				t.Error(got)
			}
		},
		"deadline of the box": func(t *testing.T) {
			b := s.box(t, sandbox.Options{Deadline: 300 * time.Millisecond})
			if _, err := b.Run(t.Context(), Shell("sleep 20")); !isLost(err) || !strings.Contains(err.Error(), "deadline") {
				t.Errorf("got %v", err)
			}
		},
		"options that cannot be": func(t *testing.T) {
			for _, o := range []sandbox.Options{{Purpose: "play"}, {DiskBytes: -1}} {
				if b, err := s.open(t.Context(), o); err == nil {
					_ = b.Close()
					t.Errorf("%+v was accepted", o)
				}
			}
		},
	}
}
