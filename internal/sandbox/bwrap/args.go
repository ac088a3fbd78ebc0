package bwrap

import (
	"strconv"

	"assay/internal/sandbox"
	"assay/internal/sandbox/supervisor"
)

// Uid and gid of everything in a box, as it sees itself; the root tree names it.
const boxID = "10001"

// Descriptors that bwrap inherits.
const (
	fdProgram = 3
	fdFilter  = 4
	fdInfo    = 5
)

// args is the command line of bwrap. There is no --die-with-parent: it hangs on
// the thread that forked, which Go may end at any time. The supervisor ends when
// its stdin does, which holds for every death of ours.
func args(root string, o sandbox.Options) []string {
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	tmpfs := func(mode string, size int64, at string) []string {
		return []string{"--perms", mode, "--size", n(size), "--tmpfs", at}
	}
	a := []string{
		"--unshare-all", "--unshare-user", "--disable-userns", "--uid", boxID, "--gid", boxID, "--hostname", "box",
		"--as-pid-1", "--new-session", "--clearenv",
		"--ro-bind", root, "/", "--proc", "/proc", "--dev", "/dev", "--mqueue", "/dev/mqueue",
	}
	a = append(a, tmpfs("1777", o.TmpBytes, "/dev/shm")...)
	a = append(a, "--remount-ro", "/dev") // a tmpfs without a size otherwise
	a = append(a, tmpfs("1777", o.TmpBytes, "/tmp")...)
	a = append(a, tmpfs("0755", o.DiskBytes, "/w")...)
	return append(a,
		"--chdir", "/", "--seccomp", strconv.Itoa(fdFilter), "--info-fd", strconv.Itoa(fdInfo),
		"--", "/proc/self/fd/"+strconv.Itoa(fdProgram), supervisor.Arg)
}
