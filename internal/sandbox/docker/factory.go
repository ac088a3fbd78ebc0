package docker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"assay/internal/bench"
	"assay/internal/sandbox"
	"assay/internal/sandbox/docker/image"
	"assay/internal/sandbox/link"
)

// Factory opens boxes of one image. It takes its Engine over.
type Factory struct {
	engine *Engine
	image  image.Image
	owner  owner
	reaper *reaper
	uid    atomic.Uint32
	phase  func(string) // for tests; never nil
}

// New makes boxes of an image that the engine has. It removes what runners that
// are dead left behind, and starts the reaper that will do the same for us; the
// running program must pass the reaper's hidden argument on (ReaperArg).
func New(ctx context.Context, e *Engine, im image.Image) (*Factory, error) {
	if err := e.supports(); err != nil {
		return nil, err
	}
	who, err := newOwner()
	if err != nil {
		return nil, err
	}
	if _, err := e.sweepDead(ctx, who.host); err != nil {
		return nil, err
	}
	f := &Factory{engine: e, image: im, owner: who, phase: func(string) {}}
	f.uid.Store(rand.Uint32N(image.UIDs))
	if f.reaper, err = startReaper(who.token); err != nil {
		return nil, err
	}
	return f, nil
}

// Close ends the reaper, which removes boxes that are still there, and lets the
// engine go.
func (f *Factory) Close() error {
	return errors.Join(f.reaper.close(), f.engine.Close())
}

// Environment is that of every box of the factory.
func (f *Factory) Environment() bench.Environment {
	e := f.image.Environment()
	e.Enforces = bench.Enforces{Memory: true, Processes: true, Disk: true, Inodes: true, CPU: true, Network: true, UID: true}
	return e
}

// Open starts a box.
func (f *Factory) Open(ctx context.Context, o sandbox.Options) (sandbox.Box, error) {
	o, err := o.WithDefaults()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := f.reaper.ensure(); err != nil {
		return nil, err
	}
	c, err := f.launch(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open a docker box: %w", err)
	}
	b, err := link.Open(ctx, c, o, f.Environment())
	if err != nil {
		return nil, err
	}
	return b, nil
}

// launch makes and starts a container. On failure nothing of it is left.
func (f *Factory) launch(ctx context.Context, o sandbox.Options) (*conn, error) {
	uid := image.FirstUID + int(f.uid.Add(1)%image.UIDs)
	id, err := f.create(ctx, o, uid)
	if err != nil {
		return nil, err
	}
	f.phase("created")
	c := hold(f.engine.cli, id)
	if err = ctx.Err(); err == nil {
		err = c.attach(ctx)
	}
	if err == nil {
		f.phase("attached")
		err = c.start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	f.phase("started")
	return c, nil
}
