package rootfs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"assay/internal/bench"

	"github.com/google/renameio/v2"
)

const manifestSchema = 1

// manifest is the file beside a tree that says what it is.
type manifest struct {
	Schema   int      `json:"schema"`
	Recipe   string   `json:"recipe"`
	Suite    string   `json:"suite"`
	Digest   string   `json:"digest"`
	Outline  string   `json:"outline"`
	Python   string   `json:"python"`
	Packages []string `json:"packages"` // "name version architecture", sorted
}

func (m manifest) root(path string) Root {
	var list bytes.Buffer
	for _, p := range m.Packages {
		fmt.Fprintln(&list, p)
	}
	return Root{
		Path: path, Digest: m.Digest, Python: m.Python, PackagesDigest: bench.Digest(list.Bytes()),
		Recipe: m.Recipe, Suite: m.Suite, Architecture: architecture(m.Packages),
	}
}

// architecture is that of the first package that has one.
func architecture(packages []string) string {
	for _, p := range packages {
		if f := strings.Fields(p); len(f) == 3 && f[2] != "all" {
			return f[2]
		}
	}
	return ""
}

func treePath(cache, id string) string { return filepath.Join(cache, "root-"+id) }

func manifestPath(cache, id string) string { return treePath(cache, id) + ".json" }

// find returns the tree of a recipe in a cache. It reports false when there is
// none, or one that its manifest does not fit.
func find(cache, id string) (Root, bool, error) {
	b, err := os.ReadFile(manifestPath(cache, id))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return Root{}, false, nil
	}
	if err != nil {
		return Root{}, false, fmt.Errorf("read the manifest of a root tree: %w", err)
	}
	var m manifest
	if json.Unmarshal(b, &m) != nil || m.Schema != manifestSchema || m.Recipe != id || m.Digest == "" || m.Python == "" {
		return Root{}, false, nil
	}
	path := treePath(cache, id)
	if o, err := outline(path); err != nil || o != m.Outline {
		return Root{}, false, nil
	}
	return m.root(path), true, nil
}

func (m manifest) save(cache string) error {
	b, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	return renameio.WriteFile(manifestPath(cache, m.Recipe), append(b, '\n'), 0o644)
}
