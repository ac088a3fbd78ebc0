package supervisor

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// identity is who candidate processes are. The zero value: the same uid as the
// supervisor, as in a user's bwrap box. A box whose PID 1 is root gives the
// candidate a uid of its own, and a gid of the same number.
type identity struct {
	uid int
}

const uidArg = "uid"

// Args is what follows the program's name to run a supervisor whose candidate
// has the given uid and gid; 0: those of the supervisor itself.
func Args(uid int) []string {
	if uid == 0 {
		return []string{Arg}
	}
	return []string{Arg, uidArg, strconv.Itoa(uid)}
}

// parseIdentity reads what follows Arg.
func parseIdentity(args []string) (identity, error) {
	if len(args) == 0 {
		return identity{}, nil
	}
	if len(args) == 2 && args[0] == uidArg {
		if n, err := strconv.ParseInt(args[1], 10, 32); err == nil && n > 0 && strconv.FormatInt(n, 10) == args[1] {
			return identity{int(n)}, nil
		}
	}
	return identity{}, fmt.Errorf("arguments %q are neither none nor %q and a number above 0", args, uidArg)
}

// other says whether the candidate has a uid of its own.
func (i identity) other() bool { return i.uid != 0 }

// owner is the uid that files of the candidate belong to.
func (i identity) owner() int {
	if i.other() {
		return i.uid
	}
	return unix.Geteuid()
}

// prepare refuses what cannot keep apart from its candidate.
func (i identity) prepare() error {
	// Sweeps kill all that can be killed, which is right in a box only.
	if os.Getpid() != 1 {
		return fmt.Errorf("this is process %d; it must be PID 1 of a box", os.Getpid())
	}
	if !i.other() {
		return nil
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("a candidate with uid %d needs a supervisor with uid 0, not %d", i.uid, os.Geteuid())
	}
	// Groups of root must not decide what may be read in the candidate's name.
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("leave all groups: %w", err)
	}
	return nil
}

// ownThreads is how many of the supervisor's threads count against the process
// limit of the candidate.
func (i identity) ownThreads() int {
	if i.other() {
		return 0
	}
	return threads()
}

// killAll sends SIGKILL to every process of the box and reports whether there
// was one. PID 1 and the sender are spared by the kernel.
func (i identity) killAll() bool {
	return unix.Kill(-1, unix.SIGKILL) == nil
}
