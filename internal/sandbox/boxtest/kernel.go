package boxtest

import (
	"testing"

	"assay/internal/sandbox"
)

func (s suite) kernel() tests {
	silent := func(source string) func(*testing.T) {
		return func(t *testing.T) {
			wantRun(t, s.box(t, sandbox.Options{}), python(`
import ctypes, os, stat
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
x86 = os.uname().machine == "x86_64"
`+source+"\nprint('done')"), "done\n")
		}
	}
	return tests{
		"mounts and namespaces": silent(`
for name, flags in ("mount", 0x20000), ("net", 0x40000000), ("pid", 0x20000000), ("uts", 0x4000000), ("ipc", 0x8000000), ("cgroup", 0x2000000), ("time", 0x80):
    if libc.unshare(flags) == 0: print("unshare", name)
if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0: print("mount")
if libc.umount2(b"/tmp", 2) == 0: print("umount")
if libc.chroot(b"/tmp") == 0: print("chroot")
if libc.pivot_root(b"/tmp", b"/tmp") == 0: print("pivot_root")
if libc.syscall(430, b"tmpfs", 0) >= 0: print("fsopen")
if libc.syscall(428, -100, b"/", 1) >= 0: print("open_tree")
if libc.sethostname(b"x", 1) == 0: print("sethostname")
for ns in os.listdir("/proc/self/ns"):
    fd = os.open("/proc/self/ns/" + ns, os.O_RDONLY)
    if libc.setns(fd, 0) == 0: print("setns", ns)`),
		// Refused as such, not for their arguments.
		"rare system calls": silent(`
for name, nr in {"bpf": (321, 280), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "userfaultfd": (323, 282), "perf_event_open": (298, 241),
    "kexec_load": (246, 104), "init_module": (175, 105), "delete_module": (176, 106), "reboot": (169, 142), "swapon": (167, 224), "acct": (163, 89), "syslog": (103, 116),
    "settimeofday": (164, 170), "open_by_handle_at": (304, 265), "quotactl": (179, 60)}.items():
    ctypes.set_errno(0)
    if libc.syscall(nr[0 if x86 else 1], 0, 0, 0, 0, 0) >= 0 or ctypes.get_errno() not in (1, 13, 38): print(name, ctypes.get_errno())`),
		"io_uring": func(t *testing.T) {
			got := mustRun(t, s.box(t, sandbox.Options{}), python(`
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
params = (ctypes.c_uint32 * 30)()
print(libc.syscall(425, 4, params))`))
			if got == "-1\n" {
				return
			}
			// It goes past a filter, and a filter is all that guards a PID 1 of the
			// candidate's own uid.
			if !s.enforces.UID {
				t.Fatal("io_uring is open")
			}
			s.skip(t, "the system call filter of this kind leaves io_uring open; engines from version 25 on close it")
		},
		"global settings": silent(`
for p in "/proc/sys/kernel/core_pattern", "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/hostname", "/proc/sys/net/ipv4/ip_forward", "/proc/sys/user/max_user_namespaces", \
    "/proc/sysrq-trigger", "/proc/irq/0/smp_affinity", "/sys/kernel/uevent_helper", "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/power/state", "/sys/fs/cgroup/cgroup.procs", "/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg":
    try: os.close(os.open(p, os.O_WRONLY)); print("opened", p)
    except OSError: pass
for p in "/dev/mem", "/dev/kmsg", "/proc/kcore", "/proc/kmsg":
    try:
        if os.read(os.open(p, os.O_RDONLY | os.O_NONBLOCK), 1): print("read", p)
    except OSError: pass`),
		"device nodes": silent(`
for d in "/w", "/tmp", "/dev/shm", "/dev":
    for kind, major, minor in (stat.S_IFBLK, 8, 0), (stat.S_IFBLK, 254, 0), (stat.S_IFCHR, 1, 1), (stat.S_IFCHR, 1, 3), (stat.S_IFCHR, 10, 200):
        try: os.mknod(d + "/node", kind | 0o666, os.makedev(major, minor)); print("mknod", d, major, minor)
        except OSError: pass`),
		"/dev is harmless": silent(`
harmless = {(1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 1), (5, 2)}
for d, dirs, files in os.walk("/dev"):
    for f in files:
        st = os.lstat(d + "/" + f)
        node = (os.major(st.st_rdev), os.minor(st.st_rdev))
        if stat.S_ISBLK(st.st_mode) or stat.S_ISCHR(st.st_mode) and node not in harmless and node[0] != 136: print(d + "/" + f, node)
for p in "/dev/x", "/dev/pts/x":
    try: open(p, "w"); print("made", p)
    except OSError: pass`),
		"root tree is read-only": func(t *testing.T) {
			wantRun(t, s.box(t, sandbox.Options{}), Shell(`find / -xdev \( -path /w -o -path /tmp -o -path /dev \) -prune -o -writable ! -type l -print 2>/dev/null | head -5`), "")
		},
	}
}
