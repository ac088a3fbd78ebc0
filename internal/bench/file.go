package bench

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// File is one regular file of a tree. Path is relative, slash-separated and
// clean; of the mode only the x bit is kept.
type File struct {
	Path string
	Exec bool
	Data []byte
}

// Tree is a set of files, sorted by path bytes, each path once.
type Tree []File

// NewTree sorts files into a tree. It refuses a path that is empty, absolute,
// not clean, leaves the tree, or occurs twice, and a file below another file.
func NewTree(files []File) (Tree, error) {
	t := slices.Clone(files)
	slices.SortFunc(t, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	known := make(map[string]bool, len(t))
	for _, f := range t {
		if err := CheckPath(f.Path); err != nil {
			return nil, err
		}
		if known[f.Path] {
			return nil, fmt.Errorf("path %q occurs twice", f.Path)
		}
		known[f.Path] = true
	}
	for _, f := range t {
		for i, r := range f.Path {
			if r == '/' && known[f.Path[:i]] {
				return nil, fmt.Errorf("path %q lies below the file %q", f.Path, f.Path[:i])
			}
		}
	}
	return t, nil
}

// CheckPath refuses a path that is not relative, slash-separated and clean.
func CheckPath(path string) error {
	switch {
	case path == "":
		return fmt.Errorf("empty path")
	case strings.ContainsRune(path, 0):
		return fmt.Errorf("path %q holds a NUL byte", path)
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("path %q is not relative and clean", path)
		}
	}
	return nil
}

// Get returns the file at path.
func (t Tree) Get(path string) (File, bool) {
	i, ok := slices.BinarySearchFunc(t, path, func(f File, p string) int { return strings.Compare(f.Path, p) })
	if !ok {
		return File{}, false
	}
	return t[i], true
}

// Size returns the bytes of all files.
func (t Tree) Size() int64 {
	var n int64
	for _, f := range t {
		n += int64(len(f.Data))
	}
	return n
}

// Manifest is the canonical text of a tree: one line a file, sorted by path:
// sha256 of the content in hex, a blank, "x" or "-", a blank, the quoted path.
func (t Tree) Manifest() []byte {
	var b bytes.Buffer
	for _, f := range t {
		mode := "-"
		if f.Exec {
			mode = "x"
		}
		fmt.Fprintf(&b, "%s %s %q\n", Digest(f.Data), mode, f.Path)
	}
	return b.Bytes()
}

// Digest is the id of the tree: sha256 of its manifest, hex.
func (t Tree) Digest() string { return Digest(t.Manifest()) }

// Digest returns sha256 in hex.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
