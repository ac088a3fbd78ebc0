package image

import (
	"context"
	"fmt"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// Prune removes images of ours but keep, unless a container is made of them,
// running or not, and returns those removed, also beside an error. An image
// whose label this assay cannot read is left alone.
func Prune(ctx context.Context, engine API, keep Image) (removed []Image, err error) {
	m := &maker{engine: engine, names: published()}
	return m.prune(ctx, keep)
}

func (m *maker) prune(ctx context.Context, keep Image) (removed []Image, err error) {
	all, err := m.images(ctx)
	if err != nil {
		return nil, err
	}
	for _, h := range all {
		if h.image.ID == keep.ID {
			continue
		}
		gone, err := m.remove(ctx, h)
		if err != nil {
			return removed, fmt.Errorf("remove image %s: %w", h.image.Ref, err)
		}
		if gone {
			removed = append(removed, h.image)
		}
	}
	return removed, nil
}

// remove removes an image by all its names: one that has several cannot be removed
// by its id without force, and force would not spare a stopped container's.
func (m *maker) remove(ctx context.Context, h held) (bool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errSlow)
	defer cancel()
	users, err := m.engine.ContainerList(ctx, client.ContainerListOptions{All: true, Limit: 1, Filters: make(client.Filters).Add("ancestor", h.image.ID)})
	if err != nil {
		return false, fmt.Errorf("look for its containers: %w", cause(ctx, err))
	}
	if len(users.Items) > 0 {
		return false, nil
	}
	refs := h.refs
	if len(refs) == 0 {
		refs = []string{h.image.ID}
	}
	for _, ref := range refs {
		_, err := m.engine.ImageRemove(ctx, ref, client.ImageRemoveOptions{PruneChildren: true})
		if cerrdefs.IsConflict(err) {
			return false, nil // a container was made of it meanwhile
		}
		if err != nil && !cerrdefs.IsNotFound(err) {
			return false, cause(ctx, err)
		}
	}
	return true, nil
}
