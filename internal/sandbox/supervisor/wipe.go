package supervisor

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// emptyPath empties a folder of the box; an absent one is empty.
func emptyPath(dir string, owner int) error {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	// The candidate may own the folder and have closed it.
	if int(st.Uid) == owner && st.Mode&0o700 != 0o700 {
		if err := unix.Chmod(dir, st.Mode&0o7777|0o755); err != nil {
			return err
		}
	}
	return emptyDir(fd)
}

// emptyDir removes everything below a folder. Trees may be deeper than there
// are descriptors or stack: what lies two levels down is moved up one.
func emptyDir(dir int) error {
	for moved := 0; ; {
		names, err := someNames(dir, ".")
		if err != nil || len(names) == 0 {
			return err
		}
		for _, name := range names {
			err := unix.Unlinkat(dir, name, 0)
			if err == unix.EISDIR {
				err = liftDir(dir, name, &moved)
			}
			if err != nil && err != unix.ENOENT {
				return err
			}
		}
	}
}

// liftDir removes one folder after moving its own folders beside it.
func liftDir(dir int, name string, moved *int) error {
	for {
		if err := unix.Fchmodat(dir, name, 0o700, 0); err != nil {
			return err
		}
		sub, err := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		names, err := someNames(sub, ".")
		for _, child := range names {
			if err = unix.Unlinkat(sub, child, 0); err == unix.EISDIR {
				err = lift(sub, child, dir, moved)
			}
			if err != nil && err != unix.ENOENT {
				break
			}
		}
		_ = unix.Close(sub)
		if err != nil && err != unix.ENOENT {
			return err
		}
		if len(names) == 0 {
			return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
		}
	}
}

func lift(from int, name string, to int, moved *int) error {
	// Moving a folder rewrites its "..", so it must be writable itself.
	if err := unix.Fchmodat(from, name, 0o700, 0); err != nil {
		return err
	}
	for {
		*moved++
		err := unix.Renameat2(from, name, to, ".assay-lifted-"+strconv.Itoa(*moved), unix.RENAME_NOREPLACE)
		if err != unix.EEXIST {
			return err
		}
	}
}

// remove removes one name with everything below it; an absent one is removed.
func remove(dir int, name string) error {
	err := unix.Unlinkat(dir, name, 0)
	if err == unix.ENOENT {
		return nil
	}
	if err != unix.EISDIR {
		return err
	}
	if err := unix.Fchmodat(dir, name, 0o700, 0); err != nil {
		return err
	}
	sub, err := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	err = emptyDir(sub)
	_ = unix.Close(sub)
	if err != nil {
		return err
	}
	return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
}

// someNames reads at most a few thousand names of a folder.
func someNames(dir int, name string) ([]string, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	names, err := f.Readdirnames(4096)
	if err == io.EOF {
		err = nil
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return names, err
}
