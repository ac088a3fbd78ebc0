package image

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
)

// Bounds of an image that is read back from an engine.
const (
	maxSaved        = 4 << 30 // bytes
	maxSavedEntries = 10_000
)

// saved is an image that was read back, in a file without a name.
type saved struct {
	file   *os.File
	layers []layer
}

func (s *saved) close() { _ = s.file.Close() }

// save reads an image back from the engine.
func (m *maker) save(ctx context.Context, from held) (*saved, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, loadTime, errors.New("the docker engine did not hand the image over in time"))
	defer cancel()
	f, err := os.CreateTemp(m.o.CacheDir, ".image-*.tar")
	if err != nil {
		return nil, fmt.Errorf("make a file for an image: %w", err)
	}
	s := &saved{file: f}
	if err = os.Remove(f.Name()); err == nil {
		err = m.fetch(ctx, f, from.image.ID)
	}
	if err == nil {
		s.layers, err = savedLayers(f, from.image.Layers)
	}
	if err != nil {
		s.close()
		return nil, failed("read image "+from.image.Ref+" back from the engine", cause(ctx, err))
	}
	return s, nil
}

func (m *maker) fetch(ctx context.Context, w io.Writer, id string) error {
	r, err := m.engine.ImageSave(ctx, []string{id})
	if err != nil {
		return err
	}
	defer r.Close()
	n, err := io.Copy(w, io.LimitReader(r, maxSaved+1))
	if err == nil && n > maxSaved {
		err = fmt.Errorf("it has more than %d bytes", int64(maxSaved))
	}
	return err
}

// span is where an entry's content stands in an archive.
type span struct{ at, size int64 }

// savedLayers finds the layers of a docker archive with one image in it. They may
// be compressed; an engine takes them back as they are, and checks them.
func savedLayers(f io.ReadSeeker, diffIDs []string) ([]layer, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	files, links := map[string]span{}, map[string]string{}
	t := tar.NewReader(f)
	for n := 0; ; n++ {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the archive: %w", err)
		}
		if n == maxSavedEntries {
			return nil, fmt.Errorf("the archive has more than %d entries", maxSavedEntries)
		}
		name := path.Clean(h.Name)
		switch h.Typeflag {
		case tar.TypeReg:
			at, err := f.Seek(0, io.SeekCurrent)
			if err != nil {
				return nil, err
			}
			files[name] = span{at, h.Size}
		case tar.TypeSymlink:
			links[name] = path.Join(path.Dir(name), h.Linkname)
		case tar.TypeLink:
			links[name] = path.Clean(h.Linkname)
		}
	}
	names, err := savedNames(f, files["manifest.json"], len(diffIDs))
	if err != nil {
		return nil, err
	}
	var layers []layer
	for i, name := range names {
		s, ok := files[path.Clean(name)]
		if !ok {
			s, ok = files[links[path.Clean(name)]]
		}
		if !ok {
			return nil, fmt.Errorf("the archive lacks layer %s", name)
		}
		layers = append(layers, layer{diffID: diffIDs[i], size: s.size, bytes: func(_ context.Context, w io.Writer) error {
			if _, err := f.Seek(s.at, io.SeekStart); err != nil {
				return err
			}
			_, err := io.CopyN(w, f, s.size)
			return err
		}})
	}
	return layers, nil
}

// savedNames reads the names of the layers from the archive's manifest.
func savedNames(f io.ReadSeeker, s span, want int) ([]string, error) {
	if s.size == 0 || s.size > maxMessage {
		return nil, fmt.Errorf("the archive has no manifest, or one of %d bytes", s.size)
	}
	if _, err := f.Seek(s.at, io.SeekStart); err != nil {
		return nil, err
	}
	b := make([]byte, s.size)
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, fmt.Errorf("read the archive's manifest: %w", err)
	}
	var images []struct{ Layers []string }
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&images); err != nil {
		return nil, fmt.Errorf("read the archive's manifest: %w", err)
	}
	if len(images) != 1 || len(images[0].Layers) != want {
		return nil, fmt.Errorf("the archive's manifest names %d images, and not one with %d layers", len(images), want)
	}
	return images[0].Layers, nil
}
