// Package bwrap makes boxes with bubblewrap: the supervisor is PID 1 of its own
// namespaces, on a read-only root tree made of Debian packages, with sized
// tmpfs, without network, behind a seccomp filter.
//
// Boxes belong to an ordinary user, also when root makes them: a box that real
// root opens in a user namespace could write the kernel's global settings. The
// supervisor and the candidate share that uid. What keeps them apart is that the
// supervisor is PID 1, undumpable, catches every signal, and that the filter
// refuses the system calls that could still touch it.
package bwrap

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"

	"assay/internal/bench"
	"assay/internal/sandbox"
	"assay/internal/sandbox/link"
	"assay/internal/sandbox/rootfs"
	"assay/internal/sandbox/seccomp"
)

// Kind is the name of this kind of box.
const Kind = "bwrap"

// Factory opens boxes on one root tree.
type Factory struct {
	root    rootfs.Root
	bwrap   string
	program *os.File // the supervisor's program; executed by descriptor
	filter  []byte   // seccomp program
	asRoot  bool
	opened  atomic.Uint32
}

// New checks that boxes can be opened on this machine. The supervisor is the
// running program, which must pass the hidden argument on (supervisor.Arg). An
// error is a *sandbox.UnavailableError where people can do something about it.
func New(root rootfs.Root) (*Factory, error) {
	f := &Factory{root: root, asRoot: os.Geteuid() == 0}
	var err error
	if f.bwrap, err = findBwrap(); err != nil {
		return nil, errAbsent()
	}
	if f.asRoot {
		if err := reachable(root.Path); err != nil {
			return nil, err
		}
		if err := reachable(f.bwrap); err != nil {
			return nil, err
		}
	}
	if f.filter, err = seccomp.Program(); err != nil {
		return nil, err
	}
	if f.program, err = program(f.asRoot); err != nil {
		return nil, fmt.Errorf("open the supervisor's program: %w", err)
	}
	return f, nil
}

// Close lets the program go. Boxes that are open stay open.
func (f *Factory) Close() error { return f.program.Close() }

// Environment is that of every box of the factory.
func (f *Factory) Environment() bench.Environment {
	return bench.Environment{
		Kind: Kind, Root: f.root.Digest, Python: f.root.Python, PackagesDigest: f.root.PackagesDigest,
		// Without a cgroup: memory is bounded for each process only, CPU for each
		// process and by the wall; a tmpfs of bwrap has no limit of inodes.
		Enforces: bench.Enforces{Processes: true, Disk: true, Network: true},
	}
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
	c, err := f.launch(o)
	if err != nil {
		return nil, fmt.Errorf("open a bwrap box: %w", err)
	}
	b, err := link.Open(ctx, c, o, f.Environment())
	if err != nil {
		return nil, refused(err, c.Diagnosis())
	}
	return b, nil
}

// findBwrap looks where PATH says, and where Debian puts it if there is no PATH.
func findBwrap() (string, error) {
	if os.Getenv("PATH") == "" {
		return exec.LookPath("/usr/bin/bwrap")
	}
	return exec.LookPath("bwrap")
}
