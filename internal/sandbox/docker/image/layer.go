package image

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"time"

	"assay/internal/sandbox/rootfs"
)

// layer is one layer of an image. Where bytes is nil, they are in the engine only.
type layer struct {
	diffID string // sha256 of the uncompressed archive
	size   int64  // of what bytes writes
	bytes  func(context.Context, io.Writer) error
}

// measured runs bytes once to learn the diff id.
func measured(ctx context.Context, bytes func(context.Context, io.Writer) error) (layer, error) {
	m := meter{hash: sha256.New()}
	if err := bytes(ctx, &m); err != nil {
		return layer{}, err
	}
	return checked(m.digest(), m.size, bytes), nil
}

// checked is a layer that fails when its bytes are not those announced.
func checked(diffID string, size int64, bytes func(context.Context, io.Writer) error) layer {
	return layer{diffID: diffID, size: size, bytes: func(ctx context.Context, w io.Writer) error {
		m := meter{hash: sha256.New(), next: w}
		if err := bytes(ctx, &m); err != nil {
			return err
		}
		if got := m.digest(); got != diffID || m.size != size {
			return fmt.Errorf("a layer changed while it was read: it was %s with %d bytes and is %s with %d", diffID, size, got, m.size)
		}
		return nil
	}}
}

type meter struct {
	hash hash.Hash
	size int64
	next io.Writer // may be nil
}

func (m *meter) Write(p []byte) (int, error) {
	m.hash.Write(p)
	m.size += int64(len(p))
	if m.next == nil {
		return len(p), nil
	}
	return m.next.Write(p)
}

func (m *meter) digest() string { return "sha256:" + hex.EncodeToString(m.hash.Sum(nil)) }

// supervisorLayer holds the program alone, so that it fits on every base.
func supervisorLayer(ctx context.Context, p program) (layer, error) {
	l, err := measured(ctx, func(_ context.Context, w io.Writer) error {
		f, err := os.Open(p.path)
		if err != nil {
			return err
		}
		defer f.Close()
		t := tar.NewWriter(w)
		h := &tar.Header{Typeflag: tar.TypeReg, Name: Program[1:], Size: p.size, Mode: 0o755, ModTime: time.Unix(rootfs.Epoch, 0)}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		content := meter{hash: sha256.New(), next: t}
		if _, err := io.Copy(&content, f); err != nil {
			return err
		}
		if content.digest() != "sha256:"+p.digest {
			return fmt.Errorf("%s changed while it was read", p.path)
		}
		return t.Close()
	})
	if err != nil {
		return layer{}, fmt.Errorf("layer of the supervisor: %w", err)
	}
	return l, nil
}
