package stage

import (
	"fmt"
	"syscall"
	"unsafe"
)

// execve is the bare system call: syscall.Exec allocates, which the address
// space limit may no longer allow.
func execve(path *byte, argv, env []*byte) syscall.Errno {
	_, _, errno := syscall.RawSyscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(path)),
		uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&env[0])))
	return errno
}

// execReports are the reports of a failed execve, made while memory can be had.
type execReports struct {
	known [64]([]byte) // by errno
	other []byte
}

func newExecReports(program string) *execReports {
	r := &execReports{other: []byte(fmt.Sprintf("execute %q: unknown error", program))}
	for i := range r.known {
		r.known[i] = []byte(fault(fmt.Sprintf("execute %q", program), syscall.Errno(i)).Error())
	}
	return r
}

// write reports without allocating.
func (r *execReports) write(errno syscall.Errno) {
	b := r.other
	if int(errno) < len(r.known) {
		b = r.known[errno]
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_WRITE, report, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
}

// rawExit ends the process without the runtime, which may need memory to end.
func rawExit(code int) {
	_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(code), 0, 0)
}
