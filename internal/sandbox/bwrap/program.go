package bwrap

import (
	"fmt"
	"os"
	"path/filepath"

	"assay/internal/sandbox"
	running "assay/internal/sandbox/program"
)

// program opens the running program. The box executes it by descriptor, so
// neither the folders above it nor the root tree matter. When the box has
// another uid, which may not execute the file itself, it is a copy in memory.
func program(otherUID bool) (*os.File, error) {
	f, err := running.Running()
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	if !otherUID || st.Mode().Perm()&0o005 == 0o005 {
		return f, nil
	}
	defer f.Close()
	return running.InMemory(f)
}

// reachable refuses a path that a uid without rights cannot use.
func reachable(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return &sandbox.UnavailableError{Problem: fmt.Sprintf("%s cannot be used: %v", path, err), Cure: "build it again or set ASSAY_CACHE to another folder"}
	}
	for p := real; ; p = filepath.Dir(p) {
		st, err := os.Stat(p)
		if err != nil {
			return err
		}
		if st.Mode().Perm()&0o001 == 0 {
			return &sandbox.UnavailableError{
				Problem: fmt.Sprintf("%s cannot be reached by the ordinary user that boxes run as: %s has mode %04o", real, p, st.Mode().Perm()),
				Cure:    fmt.Sprintf("run chmod o+x %s, or set ASSAY_CACHE to a folder that everybody can enter, such as /var/cache/assay", p),
			}
		}
		if p == filepath.Dir(p) {
			return nil
		}
	}
}
