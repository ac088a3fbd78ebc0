package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"assay/internal/sandbox"
	"assay/internal/sandbox/docker/image"
	"assay/internal/sandbox/supervisor"

	"github.com/moby/moby/api/types/container"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
)

// Room beside what the candidate may have: the supervisor's own threads and
// memory, its program among it. Its threads must always fit, for a Go program
// dies when it cannot make one.
const (
	ownProcesses = 128
	ownMemory    = 96 << 20
)

// createTime bounds the making of a container; an engine under load takes
// seconds.
const createTime = 30 * time.Second

// create makes a container that is not started yet. It is seen to its end whatever
// becomes of the caller: an engine makes what it was asked for even when nobody
// waits for the answer. After a failure the engine may still be at it, which the
// reaper is told.
func (f *Factory) create(ctx context.Context, o sandbox.Options, uid int) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTime)
	defer cancel()
	// The library would pull an image that is not there, by whatever name it has.
	if _, err := f.engine.cli.ImageInspect(ctx, f.image.ID); err != nil {
		return "", wrap(opCreate, err)
	}
	silent := log.NewNoopLogger()
	c, err := testcontainers.Run(ctx, f.image.ID,
		testcontainers.WithNoStart(),
		testcontainers.WithLogger(silent),
		testcontainers.WithLabels(f.owner.labels(string(o.Purpose))),
		testcontainers.WithConfigModifier(func(c *container.Config) { process(c, uid) }),
		testcontainers.WithHostConfigModifier(func(h *container.HostConfig) { f.hold(h, o, uid) }),
	)
	if err != nil {
		f.reaper.doubt()
		if c != nil && c.GetContainerID() != "" {
			err = errors.Join(err, remove(ctx, f.engine.cli, c.GetContainerID()))
		}
		return "", wrap(opCreate, err)
	}
	return c.GetContainerID(), nil
}

// process is what runs in the container, and how it is spoken to.
func process(c *container.Config, uid int) {
	c.Entrypoint = append([]string{image.Program}, supervisor.Args(uid)...)
	c.Cmd, c.Env, c.User, c.Hostname, c.WorkingDir = nil, nil, "0:0", "box", "/"
	c.OpenStdin, c.StdinOnce = true, true // the supervisor ends when we do
	c.AttachStdin, c.AttachStdout, c.AttachStderr = true, true, true
	// Beside network "none" this leaves the engine's own network set-up out, which
	// takes longer than all the rest of a start.
	c.NetworkDisabled = true
}

// hold is what the container may do and have.
func (f *Factory) hold(h *container.HostConfig, o sandbox.Options, uid int) {
	pids, swappiness := int64(o.Processes+ownProcesses), int64(0)
	// What lies in a tmpfs or in System V memory counts. Full ones must leave the supervisor its
	// own, for it would be the only process left to kill.
	memory := max(o.MemoryBytes, o.DiskBytes+3*o.TmpBytes) + ownMemory
	h.AutoRemove = true
	noInit := false
	h.Init = &noInit // an engine may add one by default, and the supervisor must be PID 1
	if f.engine.about.Cgroup == "2" {
		h.CgroupnsMode = "private" // or the counter of kills for memory is out of sight
	}
	h.NetworkMode = "none"
	h.ReadonlyRootfs = true
	h.CapDrop = []string{"ALL"}
	h.CapAdd = []string{"SETUID", "SETGID", "KILL"}
	h.SecurityOpt = []string{"no-new-privileges"}
	h.LogConfig = container.LogConfig{Type: "none"}
	h.IpcMode, h.ShmSize = "private", o.TmpBytes
	// System V memory outlives its processes until the sweep: no more of it than of
	// any other shared memory.
	h.Sysctls = map[string]string{
		"kernel.shmmax": strconv.FormatInt(o.TmpBytes, 10),
		"kernel.shmall": strconv.FormatInt(max(o.TmpBytes/int64(os.Getpagesize()), 1), 10),
	}
	h.Tmpfs = map[string]string{
		"/w":       tmpfs(o.DiskBytes, o.Inodes, "0755", uid, o.Exec()),
		"/tmp":     tmpfs(o.TmpBytes, o.Inodes, "1777", uid, o.Exec()),
		"/dev/shm": tmpfs(o.TmpBytes, o.Inodes, "1777", uid, false),
	}
	h.Resources = container.Resources{
		PidsLimit: &pids, Memory: memory, MemorySwap: memory, MemorySwappiness: &swappiness,
		NanoCPUs: int64(min(o.CPUs, float64(f.engine.about.CPUs)) * 1e9),
		Ulimits: []*container.Ulimit{
			{Name: "core", Soft: 0, Hard: 0},
			{Name: "nofile", Soft: openFiles, Hard: openFiles},
		},
	}
}

// openFiles bounds the supervisor and, above their own limit, what it starts.
const openFiles = 4096

func tmpfs(size, inodes int64, mode string, uid int, exec bool) string {
	run := "noexec"
	if exec {
		run = "exec"
	}
	return fmt.Sprintf("rw,nosuid,nodev,%s,size=%d,nr_inodes=%d,mode=%s,uid=%d,gid=%d", run, size, inodes, mode, uid, uid)
}
