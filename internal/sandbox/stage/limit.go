package stage

import (
	"fmt"
	"syscall"
	"unsafe"
)

// Numbers of the kernel that package syscall lacks; the same on every
// architecture that boxes run on.
const (
	rlimitNPROC        = 6
	prSetNoNewPrivs    = 38
	capabilityVersion3 = 0x20080522
)

// limit sets hard limits, all but that of the address space.
func (s Spec) limit() error {
	set := func(name string, resource int, cur, hard uint64) error {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: cur, Max: hard}); err != nil {
			return fault(fmt.Sprintf("set limit %s to %d", name, cur), err)
		}
		return nil
	}
	if err := set("core", syscall.RLIMIT_CORE, 0, 0); err != nil {
		return err
	}
	if s.CPU > 0 {
		// SIGXCPU first; a second later SIGKILL for those that catch it.
		if err := set("cpu", syscall.RLIMIT_CPU, uint64(s.CPU), uint64(s.CPU+1)); err != nil {
			return err
		}
	}
	for _, l := range []struct {
		name     string
		resource int
		n        int64
	}{
		{"open files", syscall.RLIMIT_NOFILE, s.Files},
		{"file size", syscall.RLIMIT_FSIZE, s.FileBytes},
		{"processes", rlimitNPROC, s.Processes},
	} {
		if l.n <= 0 {
			continue
		}
		if err := set(l.name, l.resource, uint64(l.n), uint64(l.n)); err != nil {
			return err
		}
	}
	return nil
}

// become turns the calling thread, which must be locked and about to execute a
// program, into one of the candidate without any capability. Until here nothing
// of the candidate could touch it, nor can it before the program runs: a thread
// that changes its uid is not dumpable.
func become(uid int) error {
	if uid == 0 {
		return nil
	}
	id := uintptr(uid)
	for _, c := range []struct {
		what          string
		call, a, b, c uintptr
	}{
		{"leave all groups", syscall.SYS_SETGROUPS, 0, 0, 0},
		{"take the gid", syscall.SYS_SETRESGID, id, id, id},
		{"take the uid", syscall.SYS_SETRESUID, id, id, id},
		{"become undumpable", syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0},
		{"forgo new privileges", syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0},
	} {
		if _, _, errno := syscall.RawSyscall6(c.call, c.a, c.b, c.c, 0, 0, 0); errno != 0 {
			return fmt.Errorf("%s of the candidate %d: %w", c.what, uid, errno)
		}
	}
	header := struct {
		version uint32
		pid     int32
	}{version: capabilityVersion3}
	var none [2]struct{ effective, permitted, inheritable uint32 }
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0); errno != 0 {
		return fmt.Errorf("give up capabilities: %w", errno)
	}
	return nil
}
