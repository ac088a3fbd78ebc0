package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Below these a folder is short of room. A root tree with its image takes about
// 300 MB and 5,000 files, a night's database some hundred MB.
const (
	warnBytes  = 2 << 30
	failBytes  = 200 << 20
	warnInodes = 20_000
	failInodes = 2_000
)

// Space is what is left where a folder is, or will be.
type Space struct {
	Path   string // of the folder, or of the nearest one above it that exists
	Bytes  uint64 // that this user may still write
	Inodes uint64 // files that can still be made
	Counts bool   // whether the file system has a fixed number of inodes
	Locked string // why this user cannot write there; empty: it can
}

// space asks the kernel. A folder that is still to be made is judged by the one
// above it.
func space(path string) (Space, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Space{}, err
	}
	for {
		var st unix.Statfs_t
		err := unix.Statfs(path, &st)
		if errors.Is(err, fs.ErrNotExist) && path != "/" {
			path = filepath.Dir(path)
			continue
		}
		if err != nil {
			return Space{}, &fs.PathError{Op: "statfs", Path: path, Err: err}
		}
		s := Space{Path: path, Bytes: st.Bavail * uint64(st.Bsize), Inodes: st.Ffree, Counts: st.Files > 0}
		if err := unix.Access(path, unix.W_OK|unix.X_OK); err != nil {
			s.Locked = err.Error()
		}
		return s, nil
	}
}

func (h Host) databaseDisk(context.Context) Check {
	return h.room(h.Folders.Database, "let --db name a file elsewhere")
}

func (h Host) cacheDisk(context.Context) Check {
	c := h.room(h.Folders.Cache, "set ASSAY_CACHE to a folder elsewhere")
	if s, err := h.Space(h.Folders.Cache); err == nil && s.Locked != "" {
		c.State = Warn // it serves as it is, if what boxes need is already in it
	}
	return c
}

func (h Host) temporaryDisk(context.Context) Check {
	return h.room(h.Folders.Temporary, "set TMPDIR to a folder elsewhere")
}

func (h Host) engineDisk(ctx context.Context) Check {
	e, c, ok := h.known(ctx)
	if !ok {
		return c
	}
	if e.Root == "" {
		return na("where the docker engine keeps its data is not known, or is on another machine")
	}
	s, err := h.Space(e.Root)
	if err != nil || s.Path != filepath.Clean(e.Root) {
		return na(e.Root + " of the docker engine cannot be seen from here")
	}
	return s.judge(e.Root, "docker system df shows what fills it; docker image prune and docker builder prune free some")
}

// room judges a folder that is written to.
func (h Host) room(path, elsewhere string) Check {
	if path == "" {
		return na("which folder is used is not known")
	}
	s, err := h.Space(path)
	if err != nil {
		return fail(fmt.Sprintf("%s cannot be looked at: %v", path, err), elsewhere)
	}
	where := path
	if s.Path != filepath.Clean(path) {
		where = fmt.Sprintf("%s (to be made in %s)", path, s.Path)
	}
	if s.Locked != "" {
		return fail(fmt.Sprintf("%s cannot be written to: %s", where, s.Locked), fmt.Sprintf("give this user the right to write to %s, or %s", s.Path, elsewhere))
	}
	return s.judge(where, "remove what is not needed there, or "+elsewhere)
}

func (s Space) judge(where, cure string) Check {
	found := fmt.Sprintf("%s: %s free", where, size(s.Bytes))
	if s.Counts {
		found += fmt.Sprintf(", %d files more", s.Inodes)
	}
	switch {
	case s.Bytes < failBytes:
		return fail(fmt.Sprintf("%s; at least %s are needed", found, size(failBytes)), cure)
	case s.Counts && s.Inodes < failInodes:
		return fail(fmt.Sprintf("%s; at least %d are needed", found, failInodes), cure)
	case s.Bytes < warnBytes:
		return warn(fmt.Sprintf("%s; a long run may need %s", found, size(warnBytes)), cure)
	case s.Counts && s.Inodes < warnInodes:
		return warn(fmt.Sprintf("%s; a long run may need %d", found, warnInodes), cure)
	}
	return ok(found)
}

// size is in binary units, as df -h has them.
func size(bytes uint64) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	case bytes >= 1<<20:
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
