package supervisor

import (
	"syscall"
	"unsafe"
)

// execve is the bare system call: syscall.Exec allocates, which the address
// space limit may no longer allow.
func execve(path string, argv, env []*byte) syscall.Errno {
	p, err := syscall.BytePtrFromString(path)
	if err != nil {
		return syscall.EINVAL
	}
	_, _, errno := syscall.RawSyscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(p)),
		uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&env[0])))
	return errno
}
