package docker

import (
	"context"
	"errors"
	"fmt"

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
	uids   *uids
	phase  func(string) // for tests; never nil
}

// New makes boxes of an image that the engine has. It starts the reaper that will
// remove them when we die; the running program must pass the reaper's hidden
// argument on (ReaperArg).
func New(e *Engine, im image.Image) (*Factory, error) {
	if err := e.supports(); err != nil {
		return nil, err
	}
	who, err := newOwner()
	if err != nil {
		return nil, err
	}
	f := &Factory{engine: e, image: im, owner: who, uids: newUIDs(), phase: func(string) {}}
	if f.reaper, err = startReaper(who.token, e.Host()); err != nil {
		return nil, err
	}
	return f, nil
}

// Close removes boxes that are still there, ends the reaper and lets the engine
// go. An error says that something may be left.
func (f *Factory) Close() error {
	err := reapOnce(f.engine.cli, f.owner.token)
	return errors.Join(err, f.reaper.close(err == nil), f.engine.Close())
}

// Environment is that of every box of the factory.
func (f *Factory) Environment() bench.Environment {
	e := f.image.Environment()
	a := f.engine.about
	e.Enforces = bench.Enforces{Memory: a.Memory, Processes: a.PIDs, Disk: true, Inodes: true, CPU: a.CPU, Network: true, UID: true}
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
	uid, err := f.uids.take()
	if err != nil {
		return nil, err
	}
	id, err := f.create(ctx, o, uid)
	if err != nil {
		f.uids.free(uid)
		return nil, err
	}
	f.phase("created")
	c := hold(ctx, f.engine.cli, id, func() { f.uids.free(uid) })
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
