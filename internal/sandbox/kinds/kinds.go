// Package kinds picks the kind of box that works on this machine and makes what
// it needs.
package kinds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"assay/internal/bench"
	"assay/internal/sandbox"
	"assay/internal/sandbox/bwrap"
	"assay/internal/sandbox/docker"
	"assay/internal/sandbox/docker/image"
	"assay/internal/sandbox/rootfs"
	"assay/internal/sandbox/supervisor"
)

// Auto picks docker where an engine can be used, else bwrap.
const Auto = "auto"

// Factory opens boxes of one kind.
type Factory interface {
	Open(context.Context, sandbox.Options) (sandbox.Box, error)
	Environment() bench.Environment // that of every box it opens
	Close() error
}

// Hidden does what this program is asked to do under a hidden first argument,
// that of a box's supervisor or of a reaper of boxes. It reports false for any
// other arguments. The main of every program that opens boxes calls it first.
func Hidden(args []string, stdin io.Reader) (exitCode int, done bool) {
	if len(args) == 0 {
		return 0, false
	}
	switch args[0] {
	case supervisor.Arg:
		return supervisor.Main(args[1:]), true
	case docker.ReaperArg:
		return docker.Reap(args[1:], stdin), true
	}
	return 0, false
}

// Open makes a kind of box ready: what its boxes are made of is found, or made
// once. note is told what takes time and, for Auto, which kind it is and why.
func Open(ctx context.Context, kind string, getenv func(string) string, note func(string)) (Factory, error) {
	switch kind {
	case bwrap.Kind:
		return openBwrap(ctx, getenv, note)
	case docker.Kind, Auto:
	default:
		return nil, fmt.Errorf("sandbox %q is not known; use auto, docker or bwrap", kind)
	}
	e, derr := docker.Connect(ctx)
	if derr == nil {
		// An engine that answers is used, or its fault is told: falling back then
		// would change the kind of box between two runs of one study without a word.
		f, err := openDocker(ctx, e, getenv, note)
		if err == nil && kind == Auto {
			note("boxes: docker")
		}
		return f, err
	}
	if kind == docker.Kind || ctx.Err() != nil {
		return nil, derr
	}
	f, err := openBwrap(ctx, getenv, note)
	if err != nil {
		return nil, fmt.Errorf("no kind of box can be used; 'assay doctor' says more:\ndocker: %w\nbwrap: %w", derr, err)
	}
	note(fmt.Sprintf("boxes: bwrap; docker cannot be used: %v", derr))
	return f, nil
}

func openBwrap(ctx context.Context, getenv func(string) string, note func(string)) (Factory, error) {
	root, err := rootfs.Ensure(ctx, rootfs.DefaultCache(getenv), note)
	if err != nil {
		return nil, err
	}
	f, err := bwrap.New(root)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// openDocker takes the engine over. What dead runs left on it is removed first;
// where that fails it is only said, for it hurts nobody.
func openDocker(ctx context.Context, e *docker.Engine, getenv func(string) string, note func(string)) (Factory, error) {
	if err := e.SweepDead(ctx); err != nil {
		note(fmt.Sprintf("%v; see 'assay clean'", err))
	}
	o, err := ImageOptions(getenv)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	im, err := image.Ensure(ctx, e.Client(), o, note)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	f, err := docker.New(e, im)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return f, nil
}

// ImageOptions says what the image of boxes is made of: this very program, and a
// published base where ASSAY_IMAGE names one.
func ImageOptions(getenv func(string) string) (image.Options, error) {
	program, err := os.Executable()
	if err != nil {
		return image.Options{}, fmt.Errorf("find this program's file: %w", err)
	}
	return image.Options{Program: program, CacheDir: rootfs.DefaultCache(getenv), Pull: getenv("ASSAY_IMAGE")}, nil
}
