package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// maxHolder bounds what is read of a lock file.
const maxHolder = 512

// fileLock is the right to write one database: an exclusive lock on the file
// path + ".lock", which the kernel releases when the process dies.
type fileLock struct {
	path string
	held *flock.Flock
}

// acquireLock takes the lock of the database at path or returns a LockedError
// that names the holder. now stamps the holder's start.
func acquireLock(path string, now time.Time) (*fileLock, error) {
	name := path + ".lock"
	// A holder removes the file while it still has the lock, so a lock may be won
	// on a file that is no longer the one of that name: then try again.
	for range 100 {
		l := flock.New(name, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o644))
		ok, err := l.TryLock()
		if err != nil {
			return nil, classify(fmt.Errorf("lock %s: %w", name, err))
		}
		if !ok {
			return nil, errors.Join(&LockedError{Path: path, Holder: readHolder(name)}, l.Close())
		}
		if !sameFile(l, name) {
			if err := l.Close(); err != nil {
				return nil, fmt.Errorf("unlock %s: %w", name, err)
			}
			continue
		}
		lock := &fileLock{path: name, held: l}
		if err := os.WriteFile(name, holder(now), 0o644); err != nil {
			return nil, classify(errors.Join(fmt.Errorf("write %s: %w", name, err), lock.release()))
		}
		return lock, nil
	}
	return nil, &LockedError{Path: path}
}

func sameFile(l *flock.Flock, name string) bool {
	mine, err := l.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(name)
	return err == nil && os.SameFile(mine, named)
}

func holder(now time.Time) []byte {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Appendf(nil, "%d\n%s\n%s\n", os.Getpid(), host, now.UTC().Format(time.RFC3339))
}

// readHolder returns the holder in words, or "" where the file does not tell.
func readHolder(name string) string {
	data, err := os.ReadFile(name)
	if err != nil || len(data) > maxHolder {
		return ""
	}
	lines := strings.Split(string(data), "\n")
	if len(lines) < 3 {
		return ""
	}
	if _, err := strconv.Atoi(lines[0]); err != nil {
		return ""
	}
	return fmt.Sprintf("process %s on %s since %s", lines[0], oneLine(lines[1]), oneLine(lines[2]))
}

// release removes the lock file and gives the lock up.
func (l *fileLock) release() error {
	err := os.Remove(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, l.held.Close())
}
