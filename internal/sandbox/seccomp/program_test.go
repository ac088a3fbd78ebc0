package seccomp

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// verdict runs the program for one system call, as the kernel would.
func verdict(t *testing.T, arch, number uint32, args ...uint64) uint32 {
	t.Helper()
	b, err := Program()
	if err != nil {
		t.Fatal(err)
	}
	var raw []bpf.RawInstruction
	for size := int(unsafe.Sizeof(unix.SockFilter{})); len(b) > 0; b = b[size:] {
		raw = append(raw, bpf.RawInstruction{Op: binary.NativeEndian.Uint16(b), Jt: b[2], Jf: b[3], K: binary.NativeEndian.Uint32(b[4:])})
	}
	code, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatal("the program does not disassemble")
	}
	vm, err := bpf.NewVM(code)
	if err != nil {
		t.Fatal(err)
	}
	// The machine of the library loads big-endian words, the kernel native ones.
	data := make([]byte, 64)
	put := func(at int, v uint32) { binary.BigEndian.PutUint32(data[at:], v) }
	put(0, number)
	put(4, arch)
	for i, a := range args {
		put(16+8*i, uint32(a))
		put(20+8*i, uint32(a>>32))
	}
	got, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(got)
}

func TestProgram(t *testing.T) {
	refused := func(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }
	for name, c := range map[string]struct {
		number uint32
		args   []uint64
		want   uint32
	}{
		"read":                 {unix.SYS_READ, []uint64{0}, unix.SECCOMP_RET_ALLOW},
		"ptrace":               {unix.SYS_PTRACE, []uint64{16, 1}, refused(unix.EPERM)},
		"prlimit of itself":    {unix.SYS_PRLIMIT64, []uint64{0, 7}, unix.SECCOMP_RET_ALLOW},
		"prlimit of PID 1":     {unix.SYS_PRLIMIT64, []uint64{1, 7}, refused(unix.EPERM)},
		"fork":                 {unix.SYS_CLONE, []uint64{uint64(unix.SIGCHLD)}, unix.SECCOMP_RET_ALLOW},
		"a user namespace":     {unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER | uint64(unix.SIGCHLD)}, refused(unix.EPERM)},
		"clone3":               {unix.SYS_CLONE3, nil, refused(unix.ENOSYS)},
		"an internet socket":   {unix.SYS_SOCKET, []uint64{unix.AF_INET, 1}, unix.SECCOMP_RET_ALLOW},
		"a socket to the host": {unix.SYS_SOCKET, []uint64{unix.AF_VSOCK, 1}, refused(unix.EAFNOSUPPORT)},
		"terminal injection":   {unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI}, refused(unix.EPERM)},
		"another ioctl":        {unix.SYS_IOCTL, []uint64{0, unix.TCGETS}, unix.SECCOMP_RET_ALLOW},
		"an x32 call":          {0x40000000, nil, refused(unix.ENOSYS)},
	} {
		if got := verdict(t, auditArch, c.number, c.args...); got != c.want {
			t.Errorf("%s: %#x, want %#x", name, got, c.want)
		}
	}
	if got := verdict(t, auditArch+1, unix.SYS_READ); got != unix.SECCOMP_RET_KILL_PROCESS {
		t.Errorf("a call of another architecture: %#x", got)
	}
}
