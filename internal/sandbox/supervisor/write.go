package supervisor

import (
	"crypto/rand"
	"fmt"
	"strings"

	"assay/internal/sandbox/frame"

	"golang.org/x/sys/unix"
)

// write makes one file, folder or link in place of what is there. A file is
// complete before it gets its name, so a full disk leaves the old one.
func (w workspace) write(p, kind string, mode uint32, data []byte) error {
	dir, base, err := w.parent(p, true)
	if err != nil {
		return fileError("open", p, err)
	}
	defer unix.Close(dir)
	mode &= 0o777
	switch kind {
	case frame.WriteDir:
		return fileError("mkdir", p, makeDir(dir, base, mode))
	case frame.WriteSymlink:
		return fileError("symlink", p, replace(dir, base, func(name string) error {
			if strings.ContainsRune(string(data), 0) {
				return unix.EINVAL
			}
			return unix.Symlinkat(string(data), dir, name)
		}))
	case frame.WriteFile:
		return fileError("write", p, replace(dir, base, func(name string) error {
			return writeNew(dir, name, mode, data)
		}))
	}
	return invalid(fmt.Sprintf("write kind %q is not known", kind))
}

// replace makes something under a name of its own and moves it into place. The
// name is drawn anew each time, for any other may be the candidate's.
func replace(dir int, base string, makeIt func(name string) error) error {
	name := ".assay-" + rand.Text()
	if err := makeIt(name); err != nil {
		if err != unix.EEXIST {
			_ = unix.Unlinkat(dir, name, 0)
		}
		return err
	}
	err := unix.Renameat(dir, name, dir, base)
	if err == unix.EISDIR || err == unix.ENOTEMPTY || err == unix.EEXIST {
		if err = remove(dir, base); err == nil {
			err = unix.Renameat(dir, name, dir, base)
		}
	}
	if err != nil {
		_ = unix.Unlinkat(dir, name, 0)
	}
	return err
}

func makeDir(dir int, base string, mode uint32) error {
	var st unix.Stat_t
	err := unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		err = unix.Unlinkat(dir, base, 0)
	}
	if err != nil && err != unix.ENOENT {
		return err
	}
	if err := unix.Mkdirat(dir, base, 0o700); err != nil && err != unix.EEXIST {
		return err
	}
	return unix.Fchmodat(dir, base, mode, 0)
}

// writeNew makes a file that must not exist. Its mode holds whatever the umask.
func writeNew(dir int, name string, mode uint32, data []byte) error {
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	for len(data) > 0 && err == nil {
		var n int
		if n, err = unix.Write(fd, data); err == unix.EINTR {
			err = nil
		}
		data = data[max(n, 0):]
	}
	if err == nil {
		err = unix.Fchmod(fd, mode)
	}
	if cerr := unix.Close(fd); err == nil {
		err = cerr
	}
	return err
}

// put lays a tree whose bytes follow each other in payload.
func (w workspace) put(t frame.Tree, payload []byte) error {
	for _, f := range t.Files {
		if f.Size < 0 || f.Size > int64(len(payload)) {
			return fmt.Errorf("%w: file %q announces %d bytes, %d are left", frame.ErrProtocol, f.Path, f.Size, len(payload))
		}
		mode := uint32(0o644)
		if f.Exec {
			mode = 0o755
		}
		if err := w.write(string(f.Path), frame.WriteFile, mode, payload[:f.Size]); err != nil {
			return err
		}
		payload = payload[f.Size:]
	}
	if len(payload) > 0 {
		return fmt.Errorf("%w: %d bytes behind the last file", frame.ErrProtocol, len(payload))
	}
	return nil
}
