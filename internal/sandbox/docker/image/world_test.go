package image

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/sandbox/rootfs"
)

// elfFile makes the smallest file that passes for a program; a tail tells two of
// them apart.
func elfFile(t *testing.T, machine uint16, loader, tail string) string {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("\x7fELF\x02\x01\x01\x00" + strings.Repeat("\x00", 8))
	put := func(v any) { _ = binary.Write(&b, binary.LittleEndian, v) }
	put(uint16(2)) // executable
	put(machine)
	put(uint32(1))
	put(uint64(0))
	put(uint64(64)) // program headers
	put(uint64(0))
	put(uint32(0))
	phnum := uint16(0)
	if loader != "" {
		phnum = 1
	}
	for _, v := range []uint16{64, 56, phnum, 64, 0, 0} {
		put(v)
	}
	if loader != "" {
		put(uint32(3)) // PT_INTERP
		put(uint32(4))
		for _, v := range []int{120, 0, 0, len(loader) + 1, len(loader) + 1, 1} {
			put(uint64(v))
		}
		b.WriteString(loader + "\x00")
	}
	b.WriteString(tail)
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, b.Bytes(), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	amd64 = 62
	arm64 = 183
)

// fakeTree makes a root tree of a few files.
func fakeTree(t *testing.T, cacheDir string) rootfs.Root {
	t.Helper()
	root := filepath.Join(cacheDir, "root-test")
	for _, dir := range []string{"etc", "usr/bin", "usr/lib64", "tmp"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"etc/passwd": "root:x:0:0::/root:/bin/sh\n", "etc/group": "root:x:0:\n", "usr/bin/tool": "#!/bin/sh\n", "usr/lib64/ld-linux-x86-64.so.2": "loader",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("usr/lib64", filepath.Join(root, "lib64")); err != nil {
		t.Fatal(err)
	}
	digest := strings.Repeat("ab", 32)
	return rootfs.Root{Path: root, Digest: digest, Python: "3.11.2", PackagesDigest: digest, Recipe: "r1", Suite: "bookworm", Architecture: "amd64"}
}

// world is what one test works on: an engine, a cache and a tree that may be missing.
type world struct {
	engine API
	names  names
	o      Options
	recipe error
	tree   *rootfs.Root
	build  func(context.Context) (rootfs.Root, error) // nil: fails
	said   []string
}

func newWorld(t *testing.T, engine API) *world {
	t.Helper()
	cache := t.TempDir()
	tree := fakeTree(t, cache)
	return &world{
		engine: engine, names: names{"io.assay.image-test", "assay-box-test"}, tree: &tree,
		o: Options{Program: elfFile(t, amd64, "", t.Name()), CacheDir: cache},
	}
}

func (w *world) maker(t *testing.T) (*maker, error) {
	t.Helper()
	m := &maker{engine: w.engine, o: w.o, names: w.names, say: func(s string) { w.said = append(w.said, s) }, trees: trees{
		recipe: func() (string, error) { return "r1", w.recipe },
		find: func(string) (rootfs.Root, bool, error) {
			if w.tree == nil {
				return rootfs.Root{}, false, nil
			}
			return *w.tree, true, nil
		},
		ensure: func(ctx context.Context, _ string, _ func(string)) (rootfs.Root, error) {
			if w.build == nil {
				return rootfs.Root{}, errors.New("nothing can be built")
			}
			return w.build(ctx)
		},
	}}
	return m, m.prepare(t.Context())
}

func (w *world) ensure(t *testing.T) (Image, error) {
	t.Helper()
	m, err := w.maker(t)
	if err != nil {
		return Image{}, err
	}
	return m.ensure(t.Context())
}
