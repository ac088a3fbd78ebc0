// Package image makes the docker image of boxes and brings it into the engine,
// without a registry and without a builder: the root tree of Debian packages
// that bwrap boxes run on is one layer, the supervisor's program the next, and
// the engine loads an archive that is written here.
package image

import (
	"context"
	"io"
	"strings"
	"time"

	"assay/internal/bench"

	"github.com/moby/moby/client"
)

// Every box takes a uid and gid of its own from this range, for the kernel counts
// the processes of a uid over all boxes. The image knows all of them as "box".
const (
	FirstUID = 58000
	UIDs     = 1000
)

// Program is the supervisor's path in the image.
const Program = "/assay"

// Origin says how an image was come by.
type Origin string

// Where an image comes from.
const (
	Local  Origin = "local"  // it was there
	Pulled Origin = "pulled" // its base was pulled
	Built  Origin = "built"  // put together here
)

// Image is an image in the engine that boxes can be made of.
type Image struct {
	ID             string    // the engine's
	Ref            string    // a tag, for people
	Layers         []string  // diff ids of all layers, the supervisor's last
	Suite          string    // of Debian, "bookworm"
	Python         string    // "3.11.2"
	PackagesDigest string    // sha256 of the sorted package list, hex
	RootDigest     string    // sha256 of the root tree, hex
	Recipe         string    // id of what the root tree was made by
	Supervisor     string    // sha256 of the supervisor's program, hex
	From           string    // what was pulled to make it, "repo@sha256:..."; empty: nothing
	Architecture   string    // Go's name
	Size           int64     // bytes, all layers
	Created        time.Time // when this engine got it; zero: the engine does not say
	Origin         Origin    // how Ensure came by it
}

// Environment identifies what a process in a box of this image finds. Root is one
// digest over the layers below the supervisor's: the supervisor is a part of
// assay, and a new version of it makes no new environment. The caller fills in
// Enforces.
func (i Image) Environment() bench.Environment {
	base := i.Layers[:max(len(i.Layers)-1, 0)]
	return bench.Environment{
		Kind:           "docker",
		Root:           bench.Digest([]byte(strings.Join(base, "\n") + "\n")),
		Python:         i.Python,
		PackagesDigest: i.PackagesDigest,
	}
}

// Options say what an image is made of.
type Options struct {
	Program     string        // path of a supervisor's program for linux, best a static one
	CacheDir    string        // where root trees are kept
	Pull        string        // a published image of ours, "repo@sha256:..."; empty: pull nothing
	PullTimeout time.Duration // 0: five minutes
}

// Store is what is asked of the engine's images.
type Store interface {
	ImageList(context.Context, client.ImageListOptions) (client.ImageListResult, error)
	ImageInspect(context.Context, string, ...client.ImageInspectOption) (client.ImageInspectResult, error)
	ImageRemove(context.Context, string, client.ImageRemoveOptions) (client.ImageRemoveResult, error)
}

// Mover brings images into the engine and out of it.
type Mover interface {
	ImageLoad(context.Context, io.Reader, ...client.ImageLoadOption) (client.ImageLoadResult, error)
	ImagePull(context.Context, string, client.ImagePullOptions) (client.ImagePullResponse, error)
	ImageSave(context.Context, []string, ...client.ImageSaveOption) (client.ImageSaveResult, error)
}

// API is the part of an engine's client that this package uses.
type API interface {
	Store
	Mover
	ServerVersion(context.Context, client.ServerVersionOptions) (client.ServerVersionResult, error)
	ContainerList(context.Context, client.ContainerListOptions) (client.ContainerListResult, error)
}
