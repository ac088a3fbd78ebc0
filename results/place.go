package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// place finds the real file behind a path, so that two names of one database
// share one lock and one log. exists is false where nothing is there yet; its
// folder is. An error has created nothing.
func place(path string) (file string, exists bool, err error) {
	if path == "" {
		return "", false, fmt.Errorf("%w: no file was named", ErrNotADatabase)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", false, fmt.Errorf("find %s: %w", path, err)
	}
	if _, err := os.Lstat(abs); errors.Is(err, fs.ErrNotExist) {
		dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
		if err != nil {
			return "", false, fmt.Errorf("the folder of the database %s is missing, make it first: %w", path, err)
		}
		return filepath.Join(dir, filepath.Base(abs)), false, nil
	}
	file, err = filepath.EvalSymlinks(abs)
	if err != nil {
		return "", false, fmt.Errorf("find the database: %w", err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", false, fmt.Errorf("find the database: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", false, fmt.Errorf("%s: %w: not a regular file", path, ErrNotADatabase)
	}
	return file, true, nil
}

// writable refuses a file or folder that may not be written. It looks at the mode
// bits too, because they do not bind root, who may have set them as a seal. It
// opens nothing: closing a second descriptor of a database would drop the
// locks that SQLite holds on it in this process.
func writable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	what, mode := "file", uint32(unix.W_OK)
	if info.IsDir() {
		what, mode = "folder", unix.W_OK|unix.X_OK
	}
	if info.Mode().Perm()&0o222 == 0 {
		return fmt.Errorf("%w: the %s %s has mode %04o", ErrReadOnly, what, path, info.Mode().Perm())
	}
	if err := unix.Access(path, mode); err != nil {
		return fmt.Errorf("%w: the %s %s: %w", ErrReadOnly, what, path, err)
	}
	return nil
}
