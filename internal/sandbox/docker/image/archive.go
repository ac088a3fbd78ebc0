package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"assay/internal/sandbox/rootfs"
)

// draft is an image that is to be: all that decides its id, and its layers.
type draft struct {
	names        names
	label        label
	architecture string
	layers       []layer
}

// config is the image's configuration, the same bytes for the same draft.
func (d draft) config() ([]byte, error) {
	type labels struct {
		Labels map[string]string `json:"Labels"`
	}
	type rootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	}
	return json.Marshal(struct {
		Architecture string `json:"architecture"`
		OS           string `json:"os"`
		Created      string `json:"created"`
		Config       labels `json:"config"`
		RootFS       rootFS `json:"rootfs"`
	}{
		d.architecture, "linux", time.Unix(rootfs.Epoch, 0).UTC().Format(time.RFC3339),
		labels{map[string]string{d.names.label: d.label.String()}}, rootFS{"layers", d.label.layers()},
	})
}

// id is what an engine calls the image, unless it keeps images by their
// manifests (the containerd store).
func id(config []byte) string {
	sum := sha256.Sum256(config)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ref is the tag of an image with this id.
func (n names) ref(id string) string { return n.repository + ":" + id[len("sha256:"):][:12] }

// write writes the image in docker's archive format. Layers without bytes are
// named and left out.
func (d draft) write(ctx context.Context, w io.Writer) error {
	config, err := d.config()
	if err != nil {
		return err
	}
	type entry struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	e := entry{Config: id(config)[len("sha256:"):] + ".json", RepoTags: []string{d.names.ref(id(config))}}
	for _, l := range d.layers {
		e.Layers = append(e.Layers, l.diffID[len("sha256:"):]+"/layer.tar")
	}
	manifest, err := json.Marshal([]entry{e})
	if err != nil {
		return err
	}
	t := tar.NewWriter(w)
	file := func(name string, size int64, content func(context.Context, io.Writer) error) error {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: time.Unix(rootfs.Epoch, 0)}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		return content(ctx, t)
	}
	text := func(b []byte) func(context.Context, io.Writer) error {
		return func(_ context.Context, w io.Writer) error { _, err := io.Copy(w, bytes.NewReader(b)); return err }
	}
	if err := file("manifest.json", int64(len(manifest)), text(manifest)); err != nil {
		return err
	}
	if err := file(e.Config, int64(len(config)), text(config)); err != nil {
		return err
	}
	for i, l := range d.layers {
		if l.bytes == nil {
			continue
		}
		if err := file(e.Layers[i], l.size, l.bytes); err != nil {
			return fmt.Errorf("layer %d: %w", i+1, err)
		}
	}
	return t.Close()
}
