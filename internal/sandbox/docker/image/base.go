package image

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"assay/internal/bench"
	"assay/internal/sandbox/rootfs"

	"github.com/google/renameio/v2"
)

// baseVersion changes whenever the same tree makes another layer.
const baseVersion = 1

// additions are what an image of boxes has beside the tree. They stand in the base
// and not beside the supervisor, so that a base made elsewhere needs nothing but a
// supervisor.
func additions() rootfs.Extra {
	var users, groups strings.Builder
	for id := FirstUID; id < FirstUID+UIDs; id++ {
		fmt.Fprintf(&users, "box:x:%d:%d:box:/w:/bin/sh\n", id, id)
		fmt.Fprintf(&groups, "box:x:%d:\n", id)
	}
	return rootfs.Extra{
		Dirs: map[string]fs.FileMode{
			"dev": 0o755, "etc": 0o755, "proc": 0o755, "sys": 0o755, "tmp": 0o777 | fs.ModeSticky, "w": 0o755,
		},
		Append: map[string]string{"etc/passwd": users.String(), "etc/group": groups.String()},
	}
}

// measure is kept beside a tree, so that its layer is read only once to learn
// its digest.
type measure struct {
	Way    string `json:"way"`  // digest of how a tree becomes a layer
	Root   string `json:"root"` // digest of the tree
	DiffID string `json:"diff_id"`
	Size   int64  `json:"size"`
}

// way covers the Go release too, whose library writes the archive.
func way() string {
	return bench.Digest(fmt.Appendf(nil, "%d %s %v", baseVersion, runtime.Version(), additions()))
}

// baseLayer is the layer of a tree. The measure is looked for beside the tree and
// in the cache of this user, who may not write to the former.
func baseLayer(ctx context.Context, root rootfs.Root, cacheDir string) (layer, error) {
	bytes := func(ctx context.Context, w io.Writer) error {
		return rootfs.WriteTar(ctx, w, root.Path, additions())
	}
	places := []string{root.Path + ".layer.json", filepath.Join(cacheDir, filepath.Base(root.Path)+".layer.json")}
	for _, place := range places {
		var m measure
		b, err := os.ReadFile(place)
		if err == nil && json.Unmarshal(b, &m) == nil && m.Way == way() && m.Root == root.Digest && isDigest(m.DiffID) && m.Size > 0 {
			return checked(m.DiffID, m.Size, bytes), nil
		}
	}
	l, err := measured(ctx, bytes)
	if err != nil {
		return layer{}, fmt.Errorf("layer of the root tree: %w", err)
	}
	b, err := json.Marshal(measure{way(), root.Digest, l.diffID, l.size})
	if err != nil {
		return layer{}, err
	}
	for _, place := range places {
		// Where it cannot be kept, it is found out again next time.
		if renameio.WriteFile(place, append(b, '\n'), 0o644) == nil {
			break
		}
	}
	return l, nil
}
