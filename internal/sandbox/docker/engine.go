// Package docker makes boxes with a Docker engine: the reference kind. The
// supervisor is PID 1 of a container without network, with a read-only root and
// sized tmpfs; one attach stream leads to it. The candidate runs under a uid of
// its own per box and has no capability.
//
// A container never outlives its runner: the supervisor ends when its stdin
// does, a reaper in a session of its own removes what was only created, and the
// next run sweeps what a killed reaper left.
package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"assay/internal/sandbox"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
)

// Kind is the name of this kind of box.
const Kind = "docker"

// connectTime bounds how long an engine may take to answer at all.
const connectTime = 10 * time.Second

// Engine is a Docker engine that answered.
type Engine struct {
	cli   *client.Client
	about About
	clock time.Duration // how far the engine's is ahead of ours
}

// About is what an engine says of itself.
type About struct {
	Host    string // its address
	Version string
	Arch    string // as Go spells it
	CPUs    int
	Root    string // its data folder, on its machine
	Storage string // driver of its images
	Cgroup  string // version of control groups, "1" or "2"

	// What it can bound; it takes a container without a limit that it cannot keep.
	Memory, PIDs, CPU bool
}

// Local says whether the engine runs on this machine, as far as its address
// tells.
func (a About) Local() bool { return strings.HasPrefix(a.Host, "unix://") }

// Connect finds the engine: DOCKER_HOST, else the usual sockets. An error is a
// *sandbox.UnavailableError that says what to do.
func Connect(ctx context.Context) (*Engine, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if err := settle(); err != nil {
		return nil, err
	}
	named := os.Getenv("DOCKER_HOST")
	cli, err := find(ctx)
	if err != nil {
		return nil, unavailable(named, err)
	}
	// The library falls back to the local socket when DOCKER_HOST does not answer.
	if host := cli.DaemonHost(); named != "" && host != named {
		_ = cli.Close()
		return nil, unavailable(named, fmt.Errorf("it does not answer (%s does)", host))
	}
	asked := time.Now()
	info, err := cli.Info(ctx, client.InfoOptions{})
	if err != nil {
		_ = cli.Close()
		return nil, unavailable(named, err)
	}
	e := &Engine{cli: cli, about: About{
		Host: cli.DaemonHost(), Version: info.Info.ServerVersion, Arch: goArch(info.Info.Architecture), CPUs: info.Info.NCPU,
		Root: info.Info.DockerRootDir, Storage: info.Info.Driver, Cgroup: info.Info.CgroupVersion,
		Memory: info.Info.MemoryLimit, PIDs: info.Info.PidsLimit, CPU: info.Info.CPUCfsQuota,
	}}
	if t, err := time.Parse(time.RFC3339Nano, info.Info.SystemTime); err == nil {
		e.clock = t.Sub(asked.Add(time.Since(asked) / 2))
	}
	if info.Info.OSType != "" && info.Info.OSType != "linux" {
		_ = cli.Close()
		return nil, &sandbox.UnavailableError{
			Problem: fmt.Sprintf("the docker engine at %s runs %s containers", e.about.Host, info.Info.OSType),
			Cure:    "switch it to Linux containers, or set DOCKER_HOST to another engine",
		}
	}
	return e, nil
}

// find asks the library for the engine. It panics where the engine answers too
// late, which is an error like any other.
func find(ctx context.Context) (cli *client.Client, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
			if ctx.Err() != nil {
				err = errors.Join(ctx.Err(), err)
			}
		}
	}()
	c, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return nil, err
	}
	return c.Client, nil
}

// settle fixes, once, what the library reads from the environment: no reaper
// container of its own (its image would have to be pulled; we have a reaper), no
// other name for our image. Only the word "true" switches the reaper off.
var settle = sync.OnceValue(func() error {
	log.SetDefault(log.NewNoopLogger())
	return errors.Join(os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true"), os.Unsetenv("TESTCONTAINERS_HUB_IMAGE_NAME_PREFIX"))
})

// Client is the engine's client, for what is no business of boxes.
func (e *Engine) Client() *client.Client { return e.cli }

// About is what the engine says of itself.
func (e *Engine) About() About { return e.about }

// Host is the address of the engine.
func (e *Engine) Host() string { return e.about.Host }

// ClockSkew is how far the engine's clock is ahead of ours.
func (e *Engine) ClockSkew() time.Duration { return e.clock }

// Close lets the connection go.
func (e *Engine) Close() error { return e.cli.Close() }

// supports refuses an engine that cannot run this program.
func (e *Engine) supports() error {
	a := e.about
	if a.Arch == "" || a.Arch == runtime.GOARCH {
		return nil
	}
	return &sandbox.UnavailableError{
		Problem: fmt.Sprintf("the docker engine at %s runs on %s and this program is built for %s; boxes run this very program", a.Host, a.Arch, runtime.GOARCH),
		Cure:    fmt.Sprintf("use an assay built for %s, or set DOCKER_HOST to an engine on %s", a.Arch, runtime.GOARCH),
	}
}

// goArch translates the kernel's names of machines.
func goArch(machine string) string {
	switch strings.ToLower(machine) {
	case "x86_64", "amd64":
		return "amd64"
	case "aarch64", "arm64":
		return "arm64"
	}
	return machine
}
