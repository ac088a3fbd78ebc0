package boxtest

import (
	"strings"
	"testing"

	"assay/internal/sandbox"
)

// status prints fields of /proc/PID/status.
const status = `
import os
def status(pid): return dict(l.rstrip("\n").split(":\t", 1) for l in open(f"/proc/{pid}/status") if ":\t" in l)
mine = status("self")
`

func (s suite) identity() tests {
	prints := func(source, want string) func(*testing.T) {
		return func(t *testing.T) { wantRun(t, s.box(t, sandbox.Options{}), python(status+source), want) }
	}
	return tests{
		"uid of PID 1": func(t *testing.T) {
			got := strings.Fields(mustRun(t, s.box(t, sandbox.Options{}), python(status+`print(status(1)["Uid"].split()[0], os.getuid())`)))
			if len(got) != 2 {
				t.Fatal(got)
			}
			declared(t, "uid", s.enforces.UID, got[0] != got[1])
		},
		"one ordinary uid and gid": prints(`
print(len(set(mine["Uid"].split())), len(set(mine["Gid"].split())), os.getuid() > 0, os.getgid() > 0, 0 in os.getgroups())`, "1 1 True True False\n"),
		"no capabilities": prints(`
for c in "CapInh", "CapPrm", "CapEff", "CapAmb":
    if int(mine[c], 16): print(c, mine[c])
# What could still be had by executing a privileged file is closed by either.
if int(mine["CapBnd"], 16) and mine["NoNewPrivs"] != "1": print("CapBnd", mine["CapBnd"])`, ""),
		"no new privileges":         prints(`print(mine["NoNewPrivs"])`, "1\n"),
		"system calls are filtered": prints(`print(mine["Seccomp"])`, "2\n"),
		"no way to root": prints(`
for name, f in ("setuid", lambda: os.setuid(0)), ("setgid", lambda: os.setgid(0)), ("setresuid", lambda: os.setresuid(0, 0, 0)), ("setgroups", lambda: os.setgroups([0])), ("seteuid", lambda: os.seteuid(0)):
    try: f(); print(name)
    except OSError: pass
print(os.getuid() > 0)`, "True\n"),
		"setuid programs give nothing": prints(`
import shutil, subprocess
if shutil.which("su"):
    if subprocess.run(["su", "-c", "id -u"], stdin=subprocess.DEVNULL, capture_output=True).stdout == b"0\n": print("su")
for d, _, files in os.walk("/usr"):
    for f in files:
        st = os.lstat(d + "/" + f)
        if st.st_mode & 0o6000 and st.st_mode & 0o170000 == 0o100000 and mine["NoNewPrivs"] != "1" and not os.statvfs(d).f_flag & os.ST_NOSUID:
            print("setuid", d + "/" + f)
shutil.copy("/usr/bin/id", "id"); os.chmod("id", 0o6755)
print(subprocess.run(["./id", "-u"], capture_output=True, text=True).stdout == f"{os.getuid()}\n")`, "True\n"),
		"no user namespaces": prints(`
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
if libc.unshare(0x10000000) == 0: print("unshare", status("self")["CapEff"])
for flags in 0x10000000, 0x30000000, 0x50000000:
    pid = libc.syscall(56 if os.uname().machine == "x86_64" else 220, flags | 17, 0, 0, 0, 0)
    if pid == 0: os._exit(0)
    if pid > 0: os.waitpid(pid, 0); print("clone", hex(flags))
args = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17)
pid = libc.syscall(435, args, 88)
if pid == 0: os._exit(0)
if pid > 0: os.waitpid(pid, 0); print("clone3")
print(os.getuid() > 0)`, "True\n"),
	}
}
