package rootfs

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Extra is what an archive of a tree has beside the tree.
type Extra struct {
	Dirs   map[string]fs.FileMode // made where the tree has none
	Append map[string]string      // text after the end of a file, which is made where the tree has none
}

// WriteTar writes a tree as an uncompressed archive, without holding it in
// memory. The same content makes the same bytes wherever the tree was built:
// entries are sorted, everything belongs to 0:0, hard links are files of their
// own, only files keep a time of their own, none later than Epoch. That harms no compiled Python: files that
// mmdebstrap has compiled are checked by their source's hash, not by its time.
func WriteTar(ctx context.Context, w io.Writer, root string, extra Extra) error {
	t := tar.NewWriter(w)
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || rel == "." {
			return err
		}
		seen[rel] = true
		info, err := d.Info()
		if err != nil {
			return err
		}
		return writeEntry(t, path, rel, info, extra.Append[rel])
	})
	if err != nil {
		return fmt.Errorf("archive of root tree %s: %w", root, err)
	}
	for _, dir := range slices.Sorted(maps.Keys(extra.Dirs)) {
		if !seen[dir] {
			if err := t.WriteHeader(header(tar.TypeDir, dir+"/", extra.Dirs[dir])); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(extra.Append)) {
		if !seen[name] {
			h := header(tar.TypeReg, name, 0o644)
			h.Size = int64(len(extra.Append[name]))
			if err := t.WriteHeader(h); err != nil {
				return err
			}
			if _, err := io.WriteString(t, extra.Append[name]); err != nil {
				return err
			}
		}
	}
	return t.Close()
}

func header(kind byte, name string, mode fs.FileMode) *tar.Header {
	bits := int64(mode.Perm())
	if mode&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	return &tar.Header{Typeflag: kind, Name: name, Mode: bits, ModTime: time.Unix(Epoch, 0)}
}

func writeEntry(t *tar.Writer, path, rel string, info fs.FileInfo, tail string) error {
	kind := info.Mode().Type()
	var h *tar.Header
	switch kind {
	case fs.ModeDir:
		h = header(tar.TypeDir, rel+"/", info.Mode())
	case fs.ModeSymlink:
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		h = header(tar.TypeSymlink, rel, 0o777)
		h.Linkname = target
	case 0:
		h = header(tar.TypeReg, rel, info.Mode())
		h.Size = info.Size() + int64(len(tail))
	default:
		return fmt.Errorf("%s is neither file, folder nor link", path)
	}
	if own := info.ModTime().Truncate(time.Second); kind == 0 && own.Before(h.ModTime) {
		h.ModTime = own
	}
	if err := t.WriteHeader(h); err != nil || kind != 0 {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	// A file that changes meanwhile makes Write or the next header fail.
	if _, err := io.Copy(t, io.LimitReader(f, info.Size()+1)); err != nil {
		return err
	}
	_, err = io.WriteString(t, tail)
	return err
}
