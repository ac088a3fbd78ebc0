package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"time"
)

// Deadlines of the checks of a host.
const (
	quick   = 2 * time.Second
	program = 10 * time.Second // nvidia-smi wakes every card first where nothing keeps the driver loaded
)

// Host is a machine as the checks see it.
type Host struct {
	Root    fs.FS // the root folder; paths in it have no leading slash
	Command func(ctx context.Context, name string, args ...string) ([]byte, error)
	Space   func(path string) (Space, error)
	Files   func() (FileLimits, error)
	Now     func() time.Time
	Sync    func() (Sync, error)
	CPUs    int // that this process may use

	Built   time.Time // when this program was made; zero: unknown
	Folders Folders
	Engine  func(context.Context) (Engine, error) // the docker engine; nil: none is known
}

// Folders are where a run writes.
type Folders struct {
	Database  string // the study's database
	Cache     string // root trees and images of boxes
	Temporary string
}

// Engine is what the checks of a host need to know of a docker engine.
type Engine struct {
	Root string        // its data folder on this machine; empty: unknown, or on another machine
	Skew time.Duration // how far its clock is ahead of ours
}

// ThisHost is the machine that this program runs on.
func ThisHost(folders Folders, built time.Time, engine func(context.Context) (Engine, error)) Host {
	return Host{
		Root: os.DirFS("/"), Command: Command, Space: space, Files: fileLimits, Now: time.Now, Sync: synchronised,
		CPUs: runtime.NumCPU(), Built: built, Folders: folders, Engine: engine,
	}
}

// Probes are the checks of a host.
func (h Host) Probes() []Probe {
	local := func(name string, run func(context.Context) Check) Probe {
		return Probe{Name: name, Timeout: quick, Run: run}
	}
	const mount = "a mount that does not answer: look for it with mount, and unmount it with umount -l, or use other folders"
	disk := func(name string, run func(context.Context) Check) Probe {
		return Probe{Name: name, Timeout: quick, Run: run, Stuck: mount}
	}
	return []Probe{
		disk("database disk", h.databaseDisk),
		disk("cache disk", h.cacheDisk),
		disk("temporary disk", h.temporaryDisk),
		{Name: "engine disk", Timeout: program, Run: h.engineDisk, Stuck: engineStuck},
		local("file descriptors", h.fileDescriptors),
		local("clock source", h.clockSource),
		local("wall clock", h.wallClock),
		{Name: "engine clock", Timeout: program, Run: h.engineClock, Stuck: engineStuck},
		local("cpu", h.cpu),
		local("memory", h.memory),
		local("cgroup", h.cgroup),
		{Name: "nvidia", Timeout: program, Run: h.nvidia, Stuck: "run nvidia-smi by hand; if it hangs too: nvidia-smi -pm 1 as root, else reload the driver or restart the machine"},
		{Name: "amd", Timeout: program, Run: h.amd},
		local("intel", h.intel),
		local("cpu energy", h.cpuEnergy),
		local("cpu load", h.cpuLoad),
		local("temperatures", h.temperatures),
	}
}

const engineStuck = "restart the docker engine (systemctl restart docker), or see DOCKER_HOST"

// text is a small file without its line end. A file that is not there, or that a
// driver does not answer for, gives false.
func (h Host) text(path string) (string, bool) {
	b, err := fs.ReadFile(h.Root, path)
	if err != nil {
		return "", false
	}
	return strings.TrimSpace(string(b)), true
}

// paths are those that match; a pattern of ours is never malformed.
func (h Host) paths(pattern string) []string {
	all, _ := fs.Glob(h.Root, pattern)
	return all
}

func (h Host) exists(path string) bool {
	_, err := fs.Stat(h.Root, path)
	return err == nil
}

func forbidden(err error) bool { return errors.Is(err, fs.ErrPermission) }

// known gives the engine, or the check that says why there is none.
func (h Host) known(ctx context.Context) (Engine, Check, bool) {
	if h.Engine == nil {
		return Engine{}, na("no docker engine is in use"), false
	}
	e, err := h.Engine(ctx)
	if err != nil {
		return Engine{}, na("no docker engine answers"), false
	}
	return e, Check{}, true
}
