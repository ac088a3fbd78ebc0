package rootfs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// contents is the sha256 of a canonical listing: for every path in lexical
// order its type, permission bits, link target and, of a file, the sha256 of its
// content. Owners and times do not count.
func contents(root string) (string, error) {
	return digest(root, func(path string, _ fs.FileInfo) (string, error) {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		h := sha256.New()
		if _, err := io.Copy(h, f); err != nil {
			return "", err
		}
		return hex.EncodeToString(h.Sum(nil)), nil
	})
}

// outline is the same with sizes and times instead of content: cheap enough to
// be checked at every use.
func outline(root string) (string, error) {
	return digest(root, func(_ string, i fs.FileInfo) (string, error) {
		return fmt.Sprintf("%d %d", i.Size(), i.ModTime().Unix()), nil
	})
}

func digest(root string, ofFile func(string, fs.FileInfo) (string, error)) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		what := ""
		switch info.Mode().Type() {
		case fs.ModeDir:
		case fs.ModeSymlink:
			what, err = os.Readlink(path)
		case 0:
			what, err = ofFile(path, info)
		default:
			return fmt.Errorf("%s is neither file, folder nor link", path)
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(h, "%q %s %q\n", rel, info.Mode(), what)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("digest of root tree %s: %w", root, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
