// Package program gives the running program's file a form that boxes can execute.
package program

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Running opens the running program, whatever its path is by now.
func Running() (*os.File, error) { return os.Open("/proc/self/exe") }

// InMemory copies a program into a sealed file in memory, which any uid may
// execute.
func InMemory(f *os.File) (*os.File, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("assay", flags|unix.MFD_EXEC)
	if err == unix.EINVAL { // a kernel before 6.3, where all of them may be executed
		fd, err = unix.MemfdCreate("assay", flags)
	}
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	m := os.NewFile(uintptr(fd), "assay")
	if _, err = io.Copy(m, f); err == nil {
		err = m.Chmod(0o755)
	}
	if err == nil {
		_, err = unix.FcntlInt(m.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err != nil {
		_ = m.Close()
		return nil, fmt.Errorf("copy the program into memory: %w", err)
	}
	return m, nil
}

// fuse is the type of file systems that a process of its own serves.
const fuse = 0x65735546

// Slow says that executing a file costs a copy of it through another process
// each time, as on the layers of an engine that stacks them in user space.
func Slow(f *os.File) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(int(f.Fd()), &st) == nil && st.Type == fuse
}
