package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/moby/moby/client"
)

const loadTime = 10 * time.Minute

var (
	errSlowLoad = fmt.Errorf("the docker engine did not take the image in within %v", loadTime)
	errStopped  = errors.New("the engine reads no further")
)

// load gives a draft to the engine and checks what became of it.
func (m *maker) load(ctx context.Context, d draft, origin Origin) (Image, error) {
	config, err := d.config()
	if err != nil {
		return Image{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, loadTime, errSlowLoad)
	defer cancel()
	if err := m.send(ctx, d); err != nil {
		return Image{}, failed("load the image of boxes", cause(ctx, err))
	}
	ref := m.names.ref(id(config))
	h, err := m.inspect(ctx, ref)
	if err != nil {
		return Image{}, fmt.Errorf("the image of boxes was loaded and is not as it should be: %w", err)
	}
	// Its id may be another one than that of the configuration: an engine with a
	// containerd store goes by manifests. Layers and label decide in both.
	if !slices.Equal(h.image.Layers, d.label.layers()) || h.label.String() != d.label.String() || h.image.Architecture != d.architecture {
		return Image{}, fmt.Errorf("the engine has another image under the name %s: layers %v, label %v", ref, h.image.Layers, h.label)
	}
	h.image.Ref, h.image.Origin = ref, origin
	return h.image, nil
}

// send streams a draft into the engine.
func (m *maker) send(ctx context.Context, d draft) error {
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := d.write(ctx, w)
		_ = w.CloseWithError(err)
		written <- err
	}()
	answer, err := m.engine.ImageLoad(ctx, r, client.ImageLoadWithQuiet(true))
	if err == nil {
		err = readMessages(answer, nil)
		_ = answer.Close()
	} else if answered(err) {
		err = &engineError{err.Error()}
	}
	_ = r.CloseWithError(errStopped)
	// A fault of the writer is the cause of whatever the engine says about it.
	if werr := <-written; werr != nil && !errors.Is(werr, errStopped) && !errors.Is(werr, io.ErrClosedPipe) {
		return werr
	}
	return err
}
