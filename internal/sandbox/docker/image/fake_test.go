package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/image"
	"github.com/moby/moby/client"
)

// fakeEngine keeps images as an engine does, in memory.
type fakeEngine struct {
	mu         sync.Mutex
	arch       string
	os         string
	containerd bool // wants all layers, calls images by another name
	loadFault  string
	images     map[string]*fakeImage // by id
	layers     map[string][]byte     // by diff id
	used       map[string]bool       // ids that containers are made of
	loads      int
	received   int // bytes of the last load
	pull       func(ctx context.Context, ref string) (io.ReadCloser, error)
}

type fakeImage struct {
	client.ImageInspectResult
	config []byte
}

func newFakeEngine() *fakeEngine {
	return &fakeEngine{arch: "amd64", os: "linux", images: map[string]*fakeImage{}, layers: map[string][]byte{}, used: map[string]bool{}}
}

type closer struct{ io.Reader }

func (closer) Close() error { return nil }

func (f *fakeEngine) ServerVersion(context.Context, client.ServerVersionOptions) (client.ServerVersionResult, error) {
	return client.ServerVersionResult{Arch: f.arch, Os: f.os}, nil
}

func (f *fakeEngine) ImageList(_ context.Context, o client.ImageListOptions) (client.ImageListResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var r client.ImageListResult
	for id, im := range f.images {
		for key := range o.Filters["label"] {
			if _, ok := im.Config.Labels[key]; ok {
				r.Items = append(r.Items, image.Summary{ID: id, Labels: im.Config.Labels})
			}
		}
	}
	return r, nil
}

func (f *fakeEngine) find(ref string) (*fakeImage, error) {
	for id, im := range f.images {
		if id == ref || slices.Contains(im.RepoTags, ref) || slices.Contains(im.RepoDigests, ref) {
			return im, nil
		}
	}
	return nil, cerrdefs.ErrNotFound.WithMessage("no such image: " + ref)
}

func (f *fakeEngine) ImageInspect(_ context.Context, ref string, _ ...client.ImageInspectOption) (client.ImageInspectResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	im, err := f.find(ref)
	if err != nil {
		return client.ImageInspectResult{}, err
	}
	return im.ImageInspectResult, nil
}

func (f *fakeEngine) ImageRemove(_ context.Context, ref string, _ client.ImageRemoveOptions) (client.ImageRemoveResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	im, err := f.find(ref)
	if err != nil {
		return client.ImageRemoveResult{}, err
	}
	if f.used[im.ID] {
		return client.ImageRemoveResult{}, cerrdefs.ErrConflict.WithMessage("in use")
	}
	is := func(s string) bool { return s == ref }
	im.RepoTags, im.RepoDigests = slices.DeleteFunc(im.RepoTags, is), slices.DeleteFunc(im.RepoDigests, is)
	if len(im.RepoTags)+len(im.RepoDigests) == 0 {
		delete(f.images, im.ID)
	}
	return client.ImageRemoveResult{}, nil
}

func (f *fakeEngine) ContainerList(_ context.Context, o client.ContainerListOptions) (client.ContainerListResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var r client.ContainerListResult
	for id := range o.Filters["ancestor"] {
		if f.used[id] {
			r.Items = append(r.Items, container.Summary{ID: "c", ImageID: id})
		}
	}
	return r, nil
}

func (f *fakeEngine) ImagePull(ctx context.Context, ref string, _ client.ImagePullOptions) (client.ImagePullResponse, error) {
	r, err := f.pull(ctx, ref)
	if err != nil {
		return nil, err
	}
	return pullAnswer{ReadCloser: r}, nil
}

type pullAnswer struct {
	io.ReadCloser
	client.ImagePullResponse
}

func (p pullAnswer) Read(b []byte) (int, error) { return p.ReadCloser.Read(b) }
func (p pullAnswer) Close() error               { return p.ReadCloser.Close() }

func (f *fakeEngine) ImageLoad(_ context.Context, r io.Reader, _ ...client.ImageLoadOption) (client.ImageLoadResult, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.loads++
	f.received = len(b)
	said := "{\"stream\":\"Loaded image\\n\"}\r\n"
	if err := f.take(b); err != nil {
		said = fmt.Sprintf("{\"errorDetail\":{\"message\":%q},\"error\":%q}\r\n", err, err)
	}
	return closer{strings.NewReader(said)}, nil
}

func (f *fakeEngine) take(archive []byte) error {
	if f.loadFault != "" {
		return errors.New(f.loadFault)
	}
	files := map[string][]byte{}
	for t := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if files[h.Name], err = io.ReadAll(t); err != nil {
			return err
		}
	}
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil {
		return err
	}
	im, err := decodeConfig(files[manifest[0].Config])
	if err != nil {
		return err
	}
	for i, diffID := range im.RootFS.Layers {
		b, ok := files[manifest[0].Layers[i]]
		if _, have := f.layers[diffID]; !ok && (f.containerd || !have) {
			return fmt.Errorf("open %s: no such file or directory", manifest[0].Layers[i])
		}
		if ok && sum(b) != diffID {
			return fmt.Errorf("invalid diffID for layer %d", i)
		}
		if ok {
			f.layers[diffID] = b
		}
		im.Size += int64(len(f.layers[diffID]))
	}
	if f.containerd {
		im.ID = sum([]byte("manifest of " + im.ID))
	}
	im.RepoTags = manifest[0].RepoTags
	im.Metadata.LastTagTime = time.Unix(int64(f.loads), 0)
	f.images[im.ID] = im
	return nil
}

func decodeConfig(config []byte) (*fakeImage, error) {
	var c struct {
		Architecture, OS string
		Config           struct{ Labels map[string]string }
		RootFS           struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	if err := json.Unmarshal(config, &c); err != nil {
		return nil, err
	}
	im := &fakeImage{config: config}
	labels, err := json.Marshal(map[string]any{"Config": c.Config})
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(labels, im); err != nil {
		return nil, err
	}
	im.ID, im.Architecture, im.Os, im.RootFS.Layers = sum(config), c.Architecture, c.OS, c.RootFS.DiffIDs
	return im, nil
}

func (f *fakeEngine) ImageSave(_ context.Context, ids []string, _ ...client.ImageSaveOption) (client.ImageSaveResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	im, err := f.find(ids[0])
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	entry := func(h *tar.Header, content []byte) {
		h.Size = int64(len(content))
		_ = t.WriteHeader(h)
		_, _ = t.Write(content)
	}
	var names []string
	for i, diffID := range im.RootFS.Layers {
		name := fmt.Sprintf("l%d/layer.tar", i)
		names = append(names, name)
		entry(&tar.Header{Name: fmt.Sprintf("blobs/%d", i)}, f.layers[diffID])
		entry(&tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: fmt.Sprintf("../blobs/%d", i)}, nil)
	}
	manifest, _ := json.Marshal([]map[string]any{{"Config": "c.json", "Layers": names}})
	entry(&tar.Header{Name: "c.json"}, im.config)
	entry(&tar.Header{Name: "manifest.json"}, manifest)
	_ = t.Close()
	return closer{&b}, nil
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(s[:])
}
