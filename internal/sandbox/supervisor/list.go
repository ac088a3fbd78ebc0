package supervisor

import (
	"cmp"
	"slices"
	"strings"

	"assay/internal/sandbox/frame"

	"golang.org/x/sys/unix"
)

const (
	listDepth = 64
	listMost  = 20_000
)

// list walks a folder without following links.
func (w workspace) list(dir string, most int) (frame.Entries, error) {
	if most <= 0 || most > listMost {
		most = listMost
	}
	name := "."
	if dir != "" && dir != "." {
		if err := checkPath(dir); err != nil {
			return frame.Entries{}, err
		}
		name = dir
	}
	fd, err := w.open(name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return frame.Entries{}, fileError("open", dir, err)
	}
	defer unix.Close(fd)
	prefix := ""
	if name != "." {
		prefix = name + "/"
	}
	l := lister{most: most}
	if err := l.walk(fd, prefix, 1); err != nil {
		return frame.Entries{}, fileError("list", dir, err)
	}
	slices.SortFunc(l.e.Entries, func(a, b frame.Entry) int { return cmp.Compare(string(a.Path), string(b.Path)) })
	return l.e, nil
}

type lister struct {
	most  int
	bytes int // of paths; the head of a frame has its cap
	e     frame.Entries
}

func (l *lister) walk(dir int, prefix string, depth int) error {
	names, err := someNames(dir, ".")
	if err != nil {
		return err
	}
	if len(names) == 4096 {
		l.e.Truncated = true
	}
	slices.SortFunc(names, strings.Compare)
	for _, name := range names {
		if len(l.e.Entries) >= l.most || l.bytes > frame.MaxHead/3 {
			l.e.Truncated = true
			return nil
		}
		var st unix.Stat_t
		if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			continue // removed meanwhile
		}
		e := frame.Entry{Path: []byte(prefix + name), Kind: kindOf(st.Mode)}
		if e.Kind == "file" {
			e.Size = st.Size
		}
		l.e.Entries = append(l.e.Entries, e)
		l.bytes += len(e.Path) + 40
		if e.Kind != "dir" {
			continue
		}
		if depth >= listDepth {
			l.e.Truncated = true
			continue
		}
		sub, err := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		_ = l.walk(sub, prefix+name+"/", depth+1) // a closed folder is listed, its content is not
		_ = unix.Close(sub)
	}
	return nil
}
