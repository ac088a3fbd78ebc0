// Package seccomp is the system call filter of everything that runs in a box:
// what no task needs and what could reach the supervisor, another box or the
// kernel's wider surface is refused.
package seccomp

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data. Of most arguments only the low half is looked
// at: pids, families, commands and clone flags live there. Both architectures
// that we know are little endian.
const (
	offNumber = 0
	offArch   = 4
	offArg0   = 16
	offArg1   = 24
	offArg2   = 32
)

// newNamespaces is every CLONE_NEW flag that clone can take.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// denied are refused with EPERM whatever their arguments.
var denied = []uint32{
	// other processes, the supervisor among them
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE, unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES,
	unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET,
	// signals that look like the kernel's: Go ends at such a SIGSEGV, but drops
	// one that kill has sent
	unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO,
	// state that outlives a process
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	// mounts and namespaces
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_UNSHARE,
	unix.SYS_SETNS, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT,
	// large kernel surface that no task needs
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER,
	unix.SYS_IO_URING_REGISTER, unix.SYS_FANOTIFY_INIT, unix.SYS_QUOTACTL, unix.SYS_ACCT, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
	unix.SYS_REBOOT, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_SYSLOG,
	unix.SYS_VHANGUP, unix.SYS_LOOKUP_DCOOKIE,
}

// selfOnly are allowed on the caller (pid 0) only.
var selfOnly = []uint32{
	unix.SYS_PRLIMIT64, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR,
}

// families are the socket families that are allowed. Others reach beyond the
// network namespace (vsock) or only enlarge the surface.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// Program is the filter as an array of struct sock_filter in native byte order.
func Program() ([]byte, error) {
	if auditArch == 0 {
		return nil, fmt.Errorf("no system call filter for this processor architecture; boxes need amd64 or arm64")
	}
	const allow, kill = uint32(unix.SECCOMP_RET_ALLOW), uint32(unix.SECCOMP_RET_KILL_PROCESS)
	refuse := func(errno unix.Errno) bpf.Instruction {
		return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
	}
	is := func(n uint32, then uint8) bpf.Instruction {
		return bpf.JumpIf{Cond: bpf.JumpEqual, Val: n, SkipTrue: 0, SkipFalse: then}
	}
	p := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		bpf.RetConstant{Val: kill},
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
		// The x32 calls of amd64 are the same calls by other numbers.
		bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: 0x40000000, SkipFalse: 1},
		refuse(unix.ENOSYS),
		// The flags of clone3 are out of a filter's reach; libraries fall back.
		is(unix.SYS_CLONE3, 1),
		refuse(unix.ENOSYS),
	}
	for _, n := range denied {
		p = append(p, is(n, 1), refuse(unix.EPERM))
	}
	for _, n := range selfOnly {
		p = append(p, is(n, 4), bpf.LoadAbsolute{Off: offArg0, Size: 4}, is(0, 1), bpf.RetConstant{Val: allow}, refuse(unix.EPERM))
	}
	p = append(p, is(unix.SYS_CLONE, 4), bpf.LoadAbsolute{Off: offArg0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: newNamespaces, SkipFalse: 1}, refuse(unix.EPERM), bpf.RetConstant{Val: allow})
	// The same by way of a file's owner, or with a siginfo of one's own making.
	p = append(p, is(unix.SYS_FCNTL, 4), bpf.LoadAbsolute{Off: offArg1, Size: 4},
		is(unix.F_SETSIG, 1), refuse(unix.EPERM), bpf.RetConstant{Val: allow})
	p = append(p, is(unix.SYS_PIDFD_SEND_SIGNAL, 6), bpf.LoadAbsolute{Off: offArg2, Size: 4}, is(0, 3),
		bpf.LoadAbsolute{Off: offArg2 + 4, Size: 4}, is(0, 1), bpf.RetConstant{Val: allow}, refuse(unix.EPERM))
	p = append(p, is(unix.SYS_IOCTL, 4), bpf.LoadAbsolute{Off: offArg1, Size: 4},
		is(unix.TIOCSTI, 1), refuse(unix.EPERM), bpf.RetConstant{Val: allow})
	p = append(p, is(unix.SYS_SOCKET, uint8(2+2*len(families))), bpf.LoadAbsolute{Off: offArg0, Size: 4})
	for _, f := range families {
		p = append(p, is(f, 1), bpf.RetConstant{Val: allow})
	}
	p = append(p, refuse(unix.EAFNOSUPPORT), bpf.RetConstant{Val: allow})
	return assemble(p)
}

func assemble(p []bpf.Instruction) ([]byte, error) {
	raw, err := bpf.Assemble(p)
	if err != nil {
		return nil, fmt.Errorf("assemble the system call filter: %w", err)
	}
	b := make([]byte, 0, len(raw)*int(unsafe.Sizeof(unix.SockFilter{})))
	for _, i := range raw {
		b = binary.NativeEndian.AppendUint16(b, i.Op)
		b = append(b, i.Jt, i.Jf)
		b = binary.NativeEndian.AppendUint32(b, i.K)
	}
	return b, nil
}
