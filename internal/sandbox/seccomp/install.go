package seccomp

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Install puts the filter on every thread of this process and on all that it
// starts, for good, beside the filters that are there. None of them can gain
// privileges from then on.
func Install() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The other threads follow this one in both.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("forgo new privileges: %w", err)
	}
	b, err := Program()
	if err != nil {
		return err
	}
	size := int(unsafe.Sizeof(unix.SockFilter{}))
	code := make([]unix.SockFilter, len(b)/size)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&code[0])), len(b)), b)
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(code)
	if errno != 0 {
		return fmt.Errorf("install the system call filter: %w", errno)
	}
	if thread != 0 {
		return fmt.Errorf("install the system call filter: thread %d cannot take it", thread)
	}
	return nil
}
