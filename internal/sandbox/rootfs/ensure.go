package rootfs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"assay/internal/sandbox"

	"github.com/gofrs/flock"
)

// Ensure returns the root tree, from cacheDir or the system's cache, or builds
// it into cacheDir, which needs root and takes about half a minute. progress is
// told what happens, in words; it may be nil. Two builders at once do the work once. An error
// is a *sandbox.UnavailableError where people can do something about it.
func Ensure(ctx context.Context, cacheDir string, progress func(string)) (Root, error) {
	if progress == nil {
		progress = func(string) {}
	}
	root, ok, err := Find(cacheDir)
	if err != nil || ok {
		return root, err
	}
	r, err := own()
	if err != nil {
		return Root{}, err
	}
	if err := able(); err != nil {
		return Root{}, err
	}
	if err := os.MkdirAll(cacheDir, 0o755); err != nil {
		return Root{}, fmt.Errorf("make the cache folder: %w", err)
	}
	lock := flock.New(treePath(cacheDir, r.id()) + ".lock")
	if !try(lock) {
		progress("waiting for another process that builds the root tree of boxes")
		if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
			return Root{}, fmt.Errorf("wait for the builder of the root tree: %w", err)
		}
	}
	defer lock.Unlock()
	if root, ok, err := find(cacheDir, r.id()); err != nil || ok {
		return root, err
	}
	return build(ctx, r, cacheDir, progress)
}

func try(l *flock.Flock) bool {
	ok, err := l.TryLock()
	return ok && err == nil
}

// Find returns the root tree from cacheDir or the system's cache, and false where
// there is none. It builds nothing. On a machine that cannot build one, a tree of
// any recipe will do.
func Find(cacheDir string) (Root, bool, error) {
	caches := []string{cacheDir, System}
	r, err := own()
	if err != nil {
		root, ok := anyTree(caches)
		return root, ok, nil
	}
	for _, cache := range caches {
		if root, ok, err := find(cache, r.id()); err != nil || ok {
			return root, ok, err
		}
	}
	return Root{}, false, nil
}

func anyTree(caches []string) (Root, bool) {
	for _, cache := range caches {
		names, _ := filepath.Glob(filepath.Join(cache, "root-*.json"))
		for _, name := range names {
			id := filepath.Base(name)
			id = id[len("root-") : len(id)-len(".json")]
			if root, ok, err := find(cache, id); err == nil && ok {
				return root, true
			}
		}
	}
	return Root{}, false
}

// able says what is missing for a build.
func able() error {
	if os.Geteuid() != 0 {
		return &sandbox.UnavailableError{
			Problem: "the root tree of boxes is not built yet, and only root can build it",
			Cure:    "run once as root: apt-get install bubblewrap mmdebstrap && assay demo (it is built into " + System + " and serves every user)",
		}
	}
	if _, err := exec.LookPath("mmdebstrap"); err != nil {
		return &sandbox.UnavailableError{Problem: "mmdebstrap is not installed", Cure: "run as root: apt-get install bubblewrap mmdebstrap"}
	}
	return nil
}
