package tasks

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"assay/internal/bench"
)

// TreeLimits cap a folder of files. Over a cap the folder is refused, never cut.
type TreeLimits struct {
	Files     int
	FileBytes int64 // of each file
	Bytes     int64 // of all files
}

// WorkspaceLimits are those of a workspace: what a candidate's export allows, so
// that an untouched workspace can always be exported again.
func WorkspaceLimits() TreeLimits {
	l := bench.DefaultExportLimits()
	return TreeLimits{Files: l.Files, FileBytes: l.FileBytes, Bytes: l.Bytes}
}

var errTooLarge = errors.New("too large")

// ReadTree reads the regular files below dir. Byte code that an interpreter left
// behind is no part of it. Links, devices and files over a limit are refused by
// name; a dir that does not exist is an empty tree.
func ReadTree(fsys fs.FS, dir string, limits TreeLimits, faults *Faults) bench.Tree {
	var files []bench.File
	var total int64
	err := fs.WalkDir(fsys, dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && name == dir && errors.Is(err, fs.ErrNotExist):
			return fs.SkipAll
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "__pycache__":
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(name, ".pyc"):
			return nil
		case !d.Type().IsRegular():
			faults.Add(name, 0, "%s; only regular files are allowed", kindOf(d.Type()))
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Size() > limits.FileBytes {
			faults.Add(name, 0, "%d bytes, the limit of one file is %d", info.Size(), limits.FileBytes)
			return nil
		}
		if total += info.Size(); total > limits.Bytes || len(files) == limits.Files {
			faults.Add(dir, 0, "over the limit of %d files and %d bytes at %s", limits.Files, limits.Bytes, name)
			return errTooLarge
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(name, dir+"/")
		files = append(files, bench.File{Path: rel, Exec: strings.HasSuffix(rel, ".sh"), Data: data})
		return nil
	})
	if errors.Is(err, errTooLarge) {
		return nil
	}
	if err != nil {
		faults.Add(dir, 0, "cannot be read: %v", err)
	}
	tree, err := bench.NewTree(files)
	if err != nil {
		faults.Add(dir, 0, "%v", err)
	}
	return tree
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "not a regular file"
}

// Overlay lays the files of over upon base.
func Overlay(base, over bench.Tree) (bench.Tree, error) {
	files := append([]bench.File(nil), over...)
	for _, f := range base {
		if _, replaced := over.Get(f.Path); !replaced {
			files = append(files, f)
		}
	}
	tree, err := bench.NewTree(files)
	if err != nil {
		return nil, fmt.Errorf("lay files over a workspace: %w", err)
	}
	return tree, nil
}

// Touched returns the protected files of a task that a tree lacks or holds with
// other content. A protected pattern is one of path.Match; one that ends in "/**"
// also covers everything below. New files are not protected.
func Touched(t bench.Task, tree bench.Tree) []string {
	var touched []string
	for _, f := range t.Workspace {
		if !protected(t.Protected, f.Path) {
			continue
		}
		if got, ok := tree.Get(f.Path); !ok || string(got.Data) != string(f.Data) {
			touched = append(touched, f.Path)
		}
	}
	return touched
}

func protected(patterns []string, name string) bool {
	for _, p := range patterns {
		if below, ok := strings.CutSuffix(p, "/**"); ok && strings.HasPrefix(name, below+"/") {
			return true
		}
		if ok, err := path.Match(p, name); err == nil && ok {
			return true
		}
	}
	return false
}
