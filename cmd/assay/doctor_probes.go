package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"assay/internal/doctor"
	"assay/internal/sandbox"
	"assay/internal/sandbox/bwrap"
	"assay/internal/sandbox/docker"
	"assay/internal/sandbox/rootfs"
)

// doctorProbes are all checks, in the order in which they are printed.
func doctorProbes(s state) ([]doctor.Probe, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, oursError{fmt.Errorf("find the working folder: %w", err)}
	}
	cache := rootfs.DefaultCache(s.getenv)
	host := doctor.ThisHost(doctor.Folders{Database: here, Cache: cache, Temporary: os.TempDir()}, buildTime(), engineFacts())
	return slices.Concat(dockerProbes(s), bwrapProbes(cache), host.Probes()), nil
}

const (
	boxTime  = 20 * time.Second // of opening one box, on a busy machine
	treeTime = 10 * time.Second // of looking through the root tree
)

func bwrapProbes(cache string) []doctor.Probe {
	var probes []doctor.Probe
	machine := bwrap.ThisMachine()
	machine.Command = doctor.Command
	try := func(ctx context.Context) error {
		root, _, err := rootfs.Find(cache)
		if err != nil {
			return err
		}
		return bwrap.Try(ctx, root)
	}
	for _, look := range bwrap.Diagnose(machine, try) {
		probes = append(probes, doctor.Probe{Name: look.Name, Timeout: boxTime, Run: func(ctx context.Context) doctor.Check {
			f := look.Run(ctx)
			return doctor.Check{State: doctor.State(f.State), Found: f.Found, Cure: f.Cure}
		}})
	}
	return append(probes, doctor.Probe{Name: checkTree, Timeout: treeTime, Run: func(context.Context) doctor.Check {
		root, found, err := rootfs.Find(cache)
		return treeCheck(root, found, err, rootfs.Buildable)
	}})
}

// treeCheck judges the root tree of boxes: there, or to be built, or neither.
func treeCheck(root rootfs.Root, found bool, err error, buildable func() error) doctor.Check {
	if err == nil && found {
		return doctor.Check{State: doctor.OK, Found: fmt.Sprintf("%s, Python %s, %s", root.Suite, root.Python, root.Path)}
	}
	if err == nil {
		err = buildable()
	}
	var u *sandbox.UnavailableError
	switch {
	case err == nil:
		return doctor.Check{State: doctor.Warn, Found: "not built yet; the first run builds it, in about half a minute",
			Cure: "nothing to mend; assay demo builds it now"}
	case errors.As(err, &u):
		return doctor.Check{State: doctor.Fail, Found: u.Problem, Cure: u.Cure}
	}
	return doctor.Check{State: doctor.Fail, Found: err.Error(), Cure: "remove the tree and its .json file from the cache; the next run as root builds it again"}
}

// engineFacts asks the docker engine once for all checks.
func engineFacts() func(context.Context) (doctor.Engine, error) {
	ask := sync.OnceValues(func() (doctor.Engine, error) {
		e, err := docker.Connect(context.Background()) // bounds itself
		if err != nil {
			return doctor.Engine{}, err
		}
		facts := doctor.Engine{Skew: e.ClockSkew()}
		if a := e.About(); a.Local() {
			facts.Root = a.Root
		}
		return facts, e.Close()
	})
	return func(context.Context) (doctor.Engine, error) { return ask() }
}

// buildTime is that of the commit this program was built from, or zero.
func buildTime() time.Time {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return time.Time{}
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.time" {
			t, _ := time.Parse(time.RFC3339, setting.Value)
			return t
		}
	}
	return time.Time{}
}
