package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/internal/bench"
	"assay/internal/doctor"
	"assay/internal/sandbox"
	"assay/internal/sandbox/docker"
	"assay/internal/sandbox/docker/image"
	"assay/internal/sandbox/kinds"
)

// Names of checks of docker that do not decide alone.
const (
	checkDockerBox = "docker box"
	checkLeft      = "boxes left"
)

func dockerProbes(s state) []doctor.Probe {
	probe := func(name string, timeout time.Duration, ask func(context.Context, state, *docker.Engine) (doctor.Check, error)) doctor.Probe {
		return doctor.Probe{Name: name, Timeout: timeout, Run: func(ctx context.Context) doctor.Check {
			e, err := docker.Connect(ctx)
			if err != nil {
				if name == checkEngine {
					return failed(err)
				}
				return doctor.Check{State: doctor.NA, Found: "no docker engine can be used"}
			}
			c, err := ask(ctx, s, e)
			if cerr := e.Close(); err == nil {
				err = cerr
			}
			if err != nil {
				return failed(err)
			}
			return c
		}}
	}
	return []doctor.Probe{
		probe(checkEngine, boxTime, engineCheck),
		probe(checkImage, boxTime, imageCheck),
		probe(checkDockerBox, boxTime, dockerBoxCheck),
		probe(checkLeft, boxTime, leftCheck),
	}
}

// failed is a check by an error, with its cure where it has one.
func failed(err error) doctor.Check {
	c := doctor.Check{State: doctor.Fail, Found: err.Error()}
	var u *sandbox.UnavailableError
	var d *docker.Error
	switch {
	case errors.As(err, &u):
		c.Found, c.Cure = u.Problem, u.Cure
	case errors.As(err, &d):
		c.Found, c.Cure = fmt.Sprintf("%s: %v", d.Op, d.Err), d.Cure
	}
	return c
}

func engineCheck(_ context.Context, _ state, e *docker.Engine) (doctor.Check, error) {
	a := e.About()
	c := doctor.Check{State: doctor.OK, Found: fmt.Sprintf("docker %s at %s, %s, %d cores, storage %s, cgroup v%s", a.Version, a.Host, a.Arch, a.CPUs, a.Storage, a.Cgroup)}
	if a.Storage == "vfs" || a.Storage == "fuse-overlayfs" {
		c.State = doctor.Warn
		c.Cure = `boxes start and read files slowly on this storage driver; where the kernel can, set "storage-driver": "overlay2" in /etc/docker/daemon.json`
	}
	return c, nil
}

func imageCheck(ctx context.Context, s state, e *docker.Engine) (doctor.Check, error) {
	im, ok, err := findImage(ctx, s, e)
	switch {
	case err != nil:
		return doctor.Check{}, err
	case !ok:
		return doctor.Check{State: doctor.Warn, Found: "not there yet; the first run makes it, in about half a minute", Cure: "nothing to mend; assay image build makes it now"}, nil
	}
	return doctor.Check{State: doctor.OK, Found: fmt.Sprintf("%s, Python %s, %.0f MB", im.Ref, im.Python, float64(im.Size)/1e6)}, nil
}

func findImage(ctx context.Context, s state, e *docker.Engine) (image.Image, bool, error) {
	o, err := kinds.ImageOptions(s.getenv)
	if err != nil {
		return image.Image{}, false, err
	}
	return image.Find(ctx, e.Client(), o)
}

// dockerBoxCheck opens a box as a run would, and runs its Python.
func dockerBoxCheck(ctx context.Context, s state, e *docker.Engine) (doctor.Check, error) {
	im, ok, err := findImage(ctx, s, e)
	if err != nil {
		return doctor.Check{}, err
	}
	if !ok {
		return doctor.Check{State: doctor.Warn, Found: "not tried: the image is not there yet", Cure: "assay image build, then assay doctor again"}, nil
	}
	own, err := docker.Connect(ctx) // the factory takes it over
	if err != nil {
		return doctor.Check{}, err
	}
	f, err := docker.New(own, im)
	if err != nil {
		return doctor.Check{}, errors.Join(err, own.Close())
	}
	c, err := tryBox(ctx, f, im)
	return c, errors.Join(err, f.Close())
}

func tryBox(ctx context.Context, f *docker.Factory, im image.Image) (doctor.Check, error) {
	begun := time.Now()
	b, err := f.Open(ctx, sandbox.Options{})
	if err != nil {
		return doctor.Check{}, err
	}
	opened := time.Since(begun)
	r, err := b.Run(ctx, bench.Command{Argv: []string{"/usr/bin/python3", "-I", "-S", "-c", "print(6*7)"}, Limits: bench.ProcessLimits{Wall: 10 * time.Second}})
	if err := errors.Join(err, b.Close()); err != nil {
		return doctor.Check{}, err
	}
	if string(r.Stdout) != "42\n" {
		return doctor.Check{State: doctor.Fail, Found: fmt.Sprintf("Python in a box says %q (%s, exit code %d, %q)", r.Stdout, r.Reason, r.Code, r.Stderr),
			Cure: "docker image rm " + im.Ref + ", then assay image build"}, nil
	}
	return doctor.Check{State: doctor.OK, Found: fmt.Sprintf("opened in %d ms, ran Python in %d ms; enforces %s", opened.Milliseconds(), r.Wall.Milliseconds(), f.Environment().Enforces)}, nil
}

func leftCheck(ctx context.Context, _ state, e *docker.Engine) (doctor.Check, error) {
	boxes, err := e.Boxes(ctx)
	if err != nil {
		return doctor.Check{}, err
	}
	n := map[docker.Liveness]int{}
	for _, b := range boxes {
		n[b.Owner]++
	}
	c := doctor.Check{State: doctor.OK, Found: fmt.Sprintf("none of dead runs (%d of runs that are alive, %d of runs that cannot be seen from here)", n[docker.OwnerAlive], n[docker.OwnerElsewhere])}
	if d := n[docker.OwnerDead]; d > 0 {
		c.State, c.Found, c.Cure = doctor.Warn, fmt.Sprintf("%s of dead runs", count(d, "box", "boxes")), "assay clean"
	}
	return c, nil
}
