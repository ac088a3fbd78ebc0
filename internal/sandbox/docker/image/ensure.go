package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"assay/internal/sandbox"
	"assay/internal/sandbox/rootfs"

	"github.com/gofrs/flock"
	"github.com/moby/moby/client"
)

// Find looks for a fitting image in the engine and changes nothing.
func Find(ctx context.Context, engine API, o Options) (Image, bool, error) {
	m, err := newMaker(ctx, engine, o, nil)
	if err != nil {
		return Image{}, false, err
	}
	_, w, err := m.want()
	if err != nil {
		return Image{}, false, err
	}
	all, err := m.images(ctx)
	if err != nil {
		return Image{}, false, err
	}
	im, ok := m.find(all, w)
	return im, ok, nil
}

// Ensure returns an image with o.Program in it: one that the engine has, else one
// on the base that o.Pull names, else one on the root tree of this machine, which
// is built where it is missing (that needs root). A failed pull is an error, for
// whoever names a base wants no other one. progress is told what happens, in
// words; it may be nil. Of two callers at once with the same cache one waits for
// the other. An error is a *sandbox.UnavailableError where people can do something
// about it.
func Ensure(ctx context.Context, engine API, o Options, progress func(string)) (Image, error) {
	m, err := newMaker(ctx, engine, o, progress)
	if err != nil {
		return Image{}, err
	}
	return m.ensure(ctx)
}

// trees are where the root tree comes from.
type trees struct {
	recipe func() (string, error)
	find   func(cacheDir string) (rootfs.Root, bool, error)
	ensure func(ctx context.Context, cacheDir string, progress func(string)) (rootfs.Root, error)
}

// maker makes one image in one engine.
type maker struct {
	engine  API
	o       Options
	names   names
	trees   trees
	say     func(string)
	program program
}

func newMaker(ctx context.Context, engine API, o Options, say func(string)) (*maker, error) {
	m := &maker{
		engine: engine, o: o, names: published(), say: say,
		trees: trees{recipe: rootfs.Recipe, find: rootfs.Find, ensure: rootfs.Ensure},
	}
	return m, m.prepare(ctx)
}

// prepare checks what can be checked before anything is done.
func (m *maker) prepare(ctx context.Context) error {
	if m.say == nil {
		m.say = func(string) {}
	}
	if m.o.Pull != "" {
		if err := checkPull(m.o.Pull); err != nil {
			return err
		}
	}
	var err error
	if m.program, err = readProgram(m.o.Program); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errSlow)
	defer cancel()
	v, err := m.engine.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return fmt.Errorf("ask the docker engine for its version: %w", cause(ctx, err))
	}
	if v.Os != "" && v.Os != "linux" {
		return &sandbox.UnavailableError{
			Problem: fmt.Sprintf("the docker engine runs %s containers, and boxes are linux ones", v.Os),
			Cure:    "switch it to linux containers, or point DOCKER_HOST at another engine",
		}
	}
	if arch := goArch(v.Arch); arch != m.program.architecture {
		return &sandbox.UnavailableError{
			Problem: fmt.Sprintf("the docker engine runs on %s, and %s is built for %s", arch, m.o.Program, m.program.architecture),
			Cure:    fmt.Sprintf("use the assay that is built for %s, or point DOCKER_HOST at an engine on %s", arch, m.program.architecture),
		}
	}
	return nil
}

// want says which base will do, and returns the tree where there is one.
func (m *maker) want() (*rootfs.Root, wanted, error) {
	w := wanted{pull: m.o.Pull}
	var none *sandbox.UnavailableError
	r, err := m.trees.recipe()
	if err != nil && !errors.As(err, &none) {
		return nil, w, err
	}
	w.recipe = r // none where the machine cannot build
	tree, ok, err := m.trees.find(m.o.CacheDir)
	if err != nil || !ok {
		return nil, w, err
	}
	w.recipe, w.root = tree.Recipe, tree.Digest
	return &tree, w, nil
}

func (m *maker) ensure(ctx context.Context) (Image, error) {
	_, w, err := m.want()
	if err != nil {
		return Image{}, err
	}
	all, err := m.images(ctx)
	if err != nil {
		return Image{}, err
	}
	if im, ok := m.find(all, w); ok {
		return im, nil
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return Image{}, err
	}
	defer unlock()
	tree, w, err := m.want()
	if err != nil {
		return Image{}, err
	}
	if all, err = m.images(ctx); err != nil {
		return Image{}, err
	}
	if im, ok := m.find(all, w); ok {
		return im, nil
	}
	if w.pull != "" {
		return m.pulled(ctx, all)
	}
	return m.built(ctx, tree, all, w)
}

// lock keeps others off who would do the same work.
func (m *maker) lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(m.o.CacheDir, 0o755); err != nil {
		return nil, fmt.Errorf("make the cache folder: %w", err)
	}
	l := flock.New(filepath.Join(m.o.CacheDir, "image.lock"))
	ok, err := l.TryLock()
	if err == nil && !ok {
		m.say("waiting for another process that makes the image of boxes")
		_, err = l.TryLockContext(ctx, 200*time.Millisecond)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the image of boxes (%s): %w", l.Path(), cause(ctx, err))
	}
	return func() { _ = l.Unlock() }, nil
}
