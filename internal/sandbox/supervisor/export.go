package supervisor

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"assay/internal/sandbox/frame"

	"golang.org/x/sys/unix"
)

// Bounds of what an export looks at, files or not, and of the paths that it
// tells, as they stand in the head of its frame.
const (
	exportEntries   = 20_000
	exportPathBytes = frame.MaxHead / 4
)

// exporter collects the workspace by the rules of an export. What breaks a rule
// or a cap rejects the whole: nothing is ever cut.
type exporter struct {
	limits  frame.Export
	head    frame.Exported
	data    []byte
	entries int
	paths   int // bytes of all paths told
}

// export must follow a sweep: it trusts that nothing changes below it.
func (w workspace) export(l frame.Export) (frame.Exported, []byte, error) {
	if l.Bytes > frame.MaxPayload {
		return frame.Exported{}, nil, invalid(fmt.Sprintf("an export holds at most %d bytes, not %d", frame.MaxPayload, l.Bytes))
	}
	if err := unix.Fchmod(w.fd, 0o755); err != nil {
		return frame.Exported{}, nil, fileError("chmod", ".", err)
	}
	x := &exporter{limits: l, head: frame.Exported{Files: []frame.File{}, Skipped: []frame.Skipped{}}}
	if err := x.walk(w.fd, "", 1); err != nil {
		return frame.Exported{}, nil, fileError("export", ".", err)
	}
	if x.head.Rejected != "" {
		x.head.Files, x.data = []frame.File{}, nil
	}
	return x.head, x.data, nil
}

func (x *exporter) skip(path, reason string) {
	x.tell(path, 3*len(escape(path))) // JSON may need six bytes for one
	x.head.Skipped = append(x.head.Skipped, frame.Skipped{Path: escape(path), Reason: reason})
}

// tell counts a path towards the bound of all.
func (x *exporter) tell(path string, n int) {
	if x.paths += n + 40; x.paths > exportPathBytes {
		x.reject(path, "more than %d bytes of paths, skipped ones included", exportPathBytes)
	}
}

func (x *exporter) reject(path, format string, args ...any) {
	if x.head.Rejected == "" {
		x.head.Rejected = fmt.Sprintf(format, args...) + ": " + escape(path)
	}
}

// walk stops at the first thing that rejects the export.
func (x *exporter) walk(dir int, prefix string, depth int) error {
	names, err := allNames(dir, exportEntries-x.entries+1)
	if err != nil {
		return err
	}
	slices.SortFunc(names, strings.Compare)
	for _, name := range names {
		if err := x.entry(dir, prefix, name, depth); err != nil {
			return err
		}
		if x.head.Rejected != "" {
			return nil
		}
	}
	return nil
}

func (x *exporter) entry(dir int, prefix, name string, depth int) error {
	path := prefix + name
	if x.entries++; x.entries > exportEntries {
		x.reject(path, "more than %d entries", exportEntries)
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	kind := st.Mode & unix.S_IFMT
	switch {
	case name == ".git":
		x.skip(path, "git")
	case name == "__pycache__", strings.HasSuffix(name, ".pyc"):
		x.skip(path, "bytecode")
	case !printable(name):
		x.skip(path, "name")
		x.reject(path, "name is not printable UTF-8")
	case len(path) > x.limits.PathBytes:
		x.reject(path, "path of %d bytes, more than %d", len(path), x.limits.PathBytes)
	case depth > x.limits.Depth:
		x.reject(path, "more than %d levels deep", x.limits.Depth)
	case kind == unix.S_IFDIR:
		return x.folder(dir, name, path, depth, st)
	case kind == unix.S_IFREG:
		return x.file(dir, name, path, st)
	default:
		x.skip(path, specialKind(kind))
	}
	return nil
}

func (x *exporter) folder(dir int, name, path string, depth int, st unix.Stat_t) error {
	if st.Mode&0o700 != 0o700 {
		if err := unix.Fchmodat(dir, name, st.Mode&0o777|0o700, 0); err != nil {
			x.skip(path, "unreadable")
			return nil
		}
	}
	sub, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		x.skip(path, "unreadable")
		return nil
	}
	defer unix.Close(sub)
	return x.walk(sub, path+"/", depth+1)
}

func (x *exporter) file(dir int, name, path string, st unix.Stat_t) error {
	total := int64(len(x.data)) + st.Size
	switch {
	case len(x.head.Files) >= x.limits.Files:
		x.reject(path, "more than %d files", x.limits.Files)
		return nil
	case st.Size > x.limits.FileBytes:
		x.reject(path, "file of %d bytes%s, more than %d", st.Size, sparse(st), x.limits.FileBytes)
		return nil
	case total > x.limits.Bytes:
		x.reject(path, "%d bytes in all%s, more than %d", total, sparse(st), x.limits.Bytes)
		return nil
	}
	if st.Mode&0o400 == 0 {
		_ = unix.Fchmodat(dir, name, st.Mode&0o777|0o400, 0) // where it fails, so does the open
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		x.skip(path, "unreadable")
		return nil
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return fmt.Errorf("%s changed while it was exported", escape(path))
	}
	before := len(x.data)
	x.data = slices.Grow(x.data, int(st.Size))[:before+int(st.Size)]
	if _, err := io.ReadFull(f, x.data[before:]); err != nil {
		return fmt.Errorf("read %s: %w", escape(path), err)
	}
	x.tell(path, len(path))
	x.head.Files = append(x.head.Files, frame.File{Path: []byte(path), Size: st.Size, Exec: st.Mode&0o100 != 0})
	return nil
}

// sparse tells a file that is mostly holes.
func sparse(st unix.Stat_t) string {
	if held := st.Blocks * 512; held+4096 < st.Size {
		return fmt.Sprintf(" (sparse: %d on disk)", held)
	}
	return ""
}

func specialKind(kind uint32) string {
	switch kind {
	case unix.S_IFLNK:
		return "symlink"
	case unix.S_IFIFO:
		return "fifo"
	case unix.S_IFSOCK:
		return "socket"
	}
	return "device"
}

func printable(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

// escape leaves printable paths as they are and quotes others; long ones are
// shortened, for they are only shown.
func escape(path string) string {
	if !printable(path) {
		path = strconv.Quote(path)
	}
	if len(path) > 200 {
		path = strings.ToValidUTF8(path[:200], "") + "…"
	}
	return path
}

func allNames(dir, most int) ([]string, error) {
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), ".")
	defer f.Close()
	names, err := f.Readdirnames(max(most, 1))
	if err == io.EOF {
		err = nil
	}
	return names, err
}
