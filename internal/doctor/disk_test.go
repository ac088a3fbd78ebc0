package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRoom(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		space       Space
		err         error
		state       State
		found, cure string
	}{
		"plenty":           {space: Space{Path: "/d", Bytes: 5 << 30, Inodes: 1e6, Counts: true}, state: OK, found: "5.0 GiB free, 1000000 files more"},
		"exactly enough":   {space: Space{Path: "/d", Bytes: warnBytes, Inodes: warnInodes, Counts: true}, state: OK},
		"short":            {space: Space{Path: "/d", Bytes: warnBytes - 1}, state: Warn, found: "2.0 GiB", cure: "--db"},
		"still usable":     {space: Space{Path: "/d", Bytes: failBytes}, state: Warn, found: "200 MiB free", cure: "--db"},
		"full":             {space: Space{Path: "/d", Bytes: failBytes - 1}, state: Fail, found: "at least 200 MiB", cure: "--db"},
		"nothing left":     {space: Space{Path: "/d"}, state: Fail, found: "0 bytes free"},
		"no inode numbers": {space: Space{Path: "/d", Bytes: 5 << 30}, state: OK, found: "5.0 GiB free"},
		"few inodes":       {space: Space{Path: "/d", Bytes: 5 << 30, Inodes: warnInodes - 1, Counts: true}, state: Warn, found: "19999 files"},
		"no inodes":        {space: Space{Path: "/d", Bytes: 5 << 30, Inodes: failInodes - 1, Counts: true}, state: Fail, found: "1999 files"},
		"to be made":       {space: Space{Path: "/", Bytes: 5 << 30}, state: OK, found: "/d (to be made in /)"},
		"locked":           {space: Space{Path: "/d", Bytes: 5 << 30, Locked: "read-only file system"}, state: Fail, found: "read-only", cure: "--db"},
		"unreadable":       {err: errors.New("stale handle"), state: Fail, found: "stale handle", cure: "--db"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := Host{Folders: Folders{Database: "/d"}, Space: func(string) (Space, error) { return test.space, test.err }}
			like(t, h.databaseDisk(t.Context()), test.state, test.found, test.cure)
		})
	}
}

func TestFoldersHaveTheirOwnCures(t *testing.T) {
	t.Parallel()
	full := func(path string) (Space, error) { return Space{Path: path}, nil }
	h := Host{Folders: Folders{Database: "/d", Cache: "/c", Temporary: "/t"}, Space: full,
		Engine: func(context.Context) (Engine, error) { return Engine{Root: "/e"}, nil }}
	like(t, h.cacheDisk(t.Context()), Fail, "/c:", "ASSAY_CACHE")
	like(t, h.temporaryDisk(t.Context()), Fail, "/t:", "TMPDIR")
	like(t, h.engineDisk(t.Context()), Fail, "/e:", "docker image prune")

	h.Space = func(path string) (Space, error) { return Space{Path: path, Bytes: 9 << 30, Locked: "no"}, nil }
	like(t, h.cacheDisk(t.Context()), Warn, "/c cannot be written to", "ASSAY_CACHE")
	like(t, h.engineDisk(t.Context()), OK, "/e: 9.0 GiB", "") // the engine writes there, not we

	h.Space = func(string) (Space, error) { return Space{Path: "/", Bytes: 9 << 30}, nil }
	like(t, h.engineDisk(t.Context()), NA, "cannot be seen", "")
	h.Engine = func(context.Context) (Engine, error) { return Engine{}, nil }
	like(t, h.engineDisk(t.Context()), NA, "not known", "")
	like(t, Host{}.databaseDisk(t.Context()), NA, "not known", "")
}

func TestSpaceOfThisMachine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := space(filepath.Join(dir, "not", "yet"))
	if err != nil || s.Path != dir || s.Bytes == 0 || s.Locked != "" {
		t.Errorf("%+v %v", s, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var at *fs.PathError
	if s, err := space(filepath.Join(file, "below")); !errors.As(err, &at) {
		t.Errorf("%+v %v", s, err)
	}
	if s, err := space("/proc"); err != nil || s.Path != "/proc" {
		t.Errorf("%+v %v", s, err)
	}
}

func TestFileDescriptors(t *testing.T) {
	t.Parallel()
	const inf = unix.RLIM_INFINITY
	for name, test := range map[string]struct {
		limits      FileLimits
		err         error
		state       State
		found, cure string
	}{
		"plenty":         {FileLimits{20000, 20000}, nil, OK, "20000 may be open", ""},
		"unlimited":      {FileLimits{inf, inf}, nil, OK, "unlimited may be open at once (hard limit unlimited)", ""},
		"just enough":    {FileLimits{2200, 4096}, nil, OK, "2200", ""},
		"soft":           {FileLimits{1024, 524288}, nil, Warn, "1000 streams at once need 2200", "ulimit -n 4096 in the shell"},
		"hard":           {FileLimits{1024, 1024}, nil, Warn, "need 2200", "limits.conf"},
		"hardly any":     {FileLimits{64, 64}, nil, Fail, "a run needs 256", "LimitNOFILE=4096"},
		"cannot be told": {FileLimits{}, errors.New("getrlimit: no"), NA, "getrlimit", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := Host{Files: func() (FileLimits, error) { return test.limits, test.err }}
			like(t, h.fileDescriptors(t.Context()), test.state, test.found, test.cure)
		})
	}
	if l, err := fileLimits(); err != nil || l.Soft == 0 || l.Hard < l.Soft {
		t.Errorf("%+v %v", l, err)
	}
}
