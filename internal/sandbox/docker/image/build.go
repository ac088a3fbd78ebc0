package image

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"assay/internal/sandbox"
	"assay/internal/sandbox/rootfs"
)

// built puts an image together: on this machine's tree, else on a base of the
// same recipe that the engine has, else on a tree that is built first.
func (m *maker) built(ctx context.Context, tree *rootfs.Root, all []held, w wanted) (Image, error) {
	if tree == nil {
		for _, h := range all {
			if h.image.Architecture == m.program.architecture && w.fits(h, false) {
				return m.derive(ctx, h, h.label.From, Built)
			}
		}
		t, err := m.trees.ensure(ctx, m.o.CacheDir, m.say)
		if err != nil {
			return Image{}, m.nothing(err)
		}
		tree = &t
	}
	if tree.Architecture != "" && goArch(tree.Architecture) != m.program.architecture {
		return Image{}, &sandbox.UnavailableError{
			Problem: fmt.Sprintf("the root tree %s is for %s, and %s is built for %s", tree.Path, tree.Architecture, m.o.Program, m.program.architecture),
			Cure:    "remove that tree and its .json file, so that a fitting one is built",
		}
	}
	if err := m.program.loadsIn(tree.Path); err != nil {
		return Image{}, err
	}
	base, err := baseLayer(ctx, *tree, m.o.CacheDir)
	if err != nil {
		return Image{}, err
	}
	top, err := supervisorLayer(ctx, m.program)
	if err != nil {
		return Image{}, err
	}
	d := draft{names: m.names, architecture: m.program.architecture, layers: []layer{base, top}, label: label{
		Format: labelFormat, Recipe: tree.Recipe, Suite: tree.Suite, Root: tree.Digest, Python: tree.Python, Packages: tree.PackagesDigest,
		Base: []string{base.diffID}, Supervisor: m.program.digest, SupervisorLayer: top.diffID,
	}}
	if slices.ContainsFunc(all, func(h held) bool { return slices.Equal(h.label.Base, d.label.Base) }) {
		partly := d
		partly.layers = []layer{{diffID: base.diffID}, top}
		// An engine that keeps its layers elsewhere wants all of them.
		if im, err := m.load(ctx, partly, Built); !refused(err) {
			return im, err
		}
	}
	m.say(fmt.Sprintf("loading the image of boxes into the docker engine (%d MB)", (base.size+top.size)>>20))
	return m.load(ctx, d, Built)
}

// nothing says what to do where an image can be had in no way.
func (m *maker) nothing(err error) error {
	var u *sandbox.UnavailableError
	if !errors.As(err, &u) {
		return err
	}
	return &sandbox.UnavailableError{
		Problem: "the docker engine has no image of boxes, none is named to be pulled, and none can be built: " + u.Problem,
		Cure: u.Cure + "; or set ASSAY_IMAGE to a published image (repository@sha256:...); " +
			"or bring one from another machine with docker save and docker load",
	}
}
