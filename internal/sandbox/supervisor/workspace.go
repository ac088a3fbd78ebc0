package supervisor

import (
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"assay/internal/sandbox/frame"

	"golang.org/x/sys/unix"
)

// workspace does file work below one folder. Every path is resolved by the
// kernel relative to that folder and may not leave it, neither by ".." nor by a
// link; it is therefore safe while processes of the candidate run.
type workspace struct {
	path string
	fd   int
}

func openWorkspace(dir string) (workspace, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return workspace{}, fmt.Errorf("open workspace %s: %w", dir, err)
	}
	return workspace{dir, fd}, nil
}

// checkPath refuses what is not relative and clean.
func checkPath(p string) error {
	if p == "" || strings.HasPrefix(p, "/") || path.Clean(p) != p || p == "." || p == ".." || strings.HasPrefix(p, "../") || strings.ContainsRune(p, 0) {
		return invalid(fmt.Sprintf("path %q is not relative and clean", p))
	}
	return nil
}

// open opens a path below the workspace.
func (w workspace) open(p string, flags int) (int, error) {
	how := &unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err := unix.Openat2(w.fd, p, how)
		if err != unix.EINTR && err != unix.EAGAIN {
			return fd, err
		}
	}
}

// parent opens the folder of a path, made if absent and asked for.
func (w workspace) parent(p string, makeIt bool) (fd int, base string, err error) {
	if err := checkPath(p); err != nil {
		return -1, "", err
	}
	dir, base := path.Split(p)
	if dir == "" {
		fd, err = w.open(".", unix.O_PATH|unix.O_DIRECTORY)
		return fd, base, err
	}
	dir = strings.TrimSuffix(dir, "/")
	fd, err = w.open(dir, unix.O_PATH|unix.O_DIRECTORY)
	if err == unix.ENOENT && makeIt {
		up, name, err := w.parent(dir, true)
		if err != nil {
			return -1, "", err
		}
		err = unix.Mkdirat(up, name, 0o755)
		_ = unix.Close(up)
		if err != nil && err != unix.EEXIST {
			return -1, "", err
		}
		fd, err = w.open(dir, unix.O_PATH|unix.O_DIRECTORY)
		return fd, base, err
	}
	return fd, base, err
}

// read returns a regular file. Anything else is not even opened, for opening
// has effects on some: a FIFO lets its other end go.
func (w workspace) read(p string, most int64) ([]byte, error) {
	if err := checkPath(p); err != nil {
		return nil, err
	}
	if most <= 0 || most > frame.MaxPayload {
		most = frame.MaxPayload
	}
	seen, err := w.open(p, unix.O_PATH)
	if err != nil {
		return nil, fileError("open", p, err)
	}
	_, err = regular(p, seen)
	_ = unix.Close(seen)
	if err != nil {
		return nil, err
	}
	fd, err := w.open(p, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, fileError("open", p, err)
	}
	f := os.NewFile(uintptr(fd), p)
	defer f.Close()
	size, err := regular(p, fd)
	if err != nil {
		return nil, err
	}
	if size > most {
		return nil, tooLarge(p, size, most)
	}
	data := make([]byte, 0, size+1)
	data, err = readInto(data, io.LimitReader(f, most+1))
	if err != nil {
		return nil, fileError("read", p, err)
	}
	if int64(len(data)) > most {
		return nil, tooLarge(p, int64(len(data)), most)
	}
	return data, nil
}

func readInto(b []byte, r io.Reader) ([]byte, error) {
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
	}
}

func tooLarge(p string, size, most int64) error {
	return &failure{frame.Fail{Code: frame.FailTooLarge, Op: "read", Path: []byte(p), Size: size, Max: most}}
}

// regular returns the size of a regular file.
func regular(p string, fd int) (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, fileError("stat", p, err)
	}
	if kind := kindOf(st.Mode); kind != "file" {
		return 0, &failure{frame.Fail{Code: frame.FailNotRegular, Op: "read", Path: []byte(p), Kind: kind}}
	}
	return st.Size, nil
}

func kindOf(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return "file"
	case unix.S_IFDIR:
		return "dir"
	case unix.S_IFLNK:
		return "symlink"
	}
	return "other"
}
