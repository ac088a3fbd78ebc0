package supervisor

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// identity is who candidate processes are. The zero value: the same uid as the
// supervisor, as in a user's bwrap box. A box whose PID 1 is root gives the
// candidate a uid of its own.
type identity struct {
	other    bool
	uid, gid int
}

// attr is how a candidate process is forked: in a session of its own.
func (i identity) attr() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	if i.other {
		a.Credential = &syscall.Credential{Uid: uint32(i.uid), Gid: uint32(i.gid)}
	}
	return a
}

// ownThreads is how many of the supervisor's threads count against the process
// limit of the candidate.
func (i identity) ownThreads() int {
	if i.other {
		return 0
	}
	return threads()
}

// killAll sends SIGKILL to every process of the candidate and reports whether
// there was one. PID 1 and the sender are spared by the kernel.
func (i identity) killAll() bool {
	return unix.Kill(-1, unix.SIGKILL) == nil
}
