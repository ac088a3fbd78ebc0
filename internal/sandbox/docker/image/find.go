package image

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// answerTime bounds what an engine answers from its head.
const answerTime = time.Minute

var errSlow = errors.New("the docker engine did not answer within a minute")

// held is an image of ours that an engine has.
type held struct {
	image Image
	label label
	refs  []string // tags and digests
}

// images lists what carries our label and is what the label says. Whatever else
// carries it is nothing of ours: anybody can write a label.
func (m *maker) images(ctx context.Context) ([]held, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errSlow)
	defer cancel()
	list, err := m.engine.ImageList(ctx, client.ImageListOptions{Filters: make(client.Filters).Add("label", m.names.label)})
	if err != nil {
		return nil, fmt.Errorf("list the engine's images: %w", cause(ctx, err))
	}
	var all []held
	for _, s := range list.Items {
		if _, err := parseLabel(s.Labels[m.names.label]); err != nil {
			continue
		}
		h, err := m.inspect(ctx, s.ID)
		var unfit *unfitError
		if errors.As(err, &unfit) || cerrdefs.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, h)
	}
	// The same choice every time, the latest first.
	slices.SortFunc(all, func(a, b held) int {
		if c := b.image.Created.Compare(a.image.Created); c != 0 {
			return c
		}
		return strings.Compare(a.image.ID, b.image.ID)
	})
	return all, nil
}

// unfitError says why an image is none of ours.
type unfitError struct{ why string }

func (e *unfitError) Error() string { return e.why }

// inspect looks at one image and checks it against its label.
func (m *maker) inspect(ctx context.Context, ref string) (held, error) {
	r, err := m.engine.ImageInspect(ctx, ref)
	if err != nil {
		return held{}, fmt.Errorf("inspect image %s: %w", ref, cause(ctx, err))
	}
	if r.Config == nil || r.Config.Labels[m.names.label] == "" {
		return held{}, &unfitError{fmt.Sprintf("it has no label %s, so nobody knows what it was made of", m.names.label)}
	}
	l, err := parseLabel(r.Config.Labels[m.names.label])
	if err != nil {
		return held{}, &unfitError{err.Error()}
	}
	if !slices.Equal(r.RootFS.Layers, l.layers()) {
		return held{}, &unfitError{"its layers are not those that its label names"}
	}
	if r.Os != "linux" {
		return held{}, &unfitError{fmt.Sprintf("it is for %q, not for linux", r.Os)}
	}
	h := held{label: l, refs: slices.Concat(r.RepoTags, r.RepoDigests), image: Image{
		ID: r.ID, Ref: r.ID, Layers: r.RootFS.Layers, Suite: l.Suite, Python: l.Python, PackagesDigest: l.Packages, RootDigest: l.Root,
		Recipe: l.Recipe, Supervisor: l.Supervisor, From: l.From, Architecture: goArch(r.Architecture), Size: r.Size,
		Created: r.Metadata.LastTagTime, Origin: Local,
	}}
	for _, t := range r.RepoTags {
		if strings.HasPrefix(t, m.names.repository+":") {
			h.image.Ref = t
		}
	}
	return h, nil
}

// goArch spells an architecture as Go does.
func goArch(s string) string {
	switch s {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return s
}

// cause tells why a context ended rather than that it did.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// find looks for an image with this program that fits what is wanted.
func (m *maker) find(all []held, w wanted) (Image, bool) {
	for _, exact := range []bool{true, false} { // what was named to be pulled goes first
		for _, h := range all {
			if h.label.Supervisor == m.program.digest && h.image.Architecture == m.program.architecture && w.fits(h, exact) {
				return h.image, true
			}
		}
	}
	return Image{}, false
}

// wanted says which bases will do.
type wanted struct {
	recipe string // of this machine; empty: it has none
	root   string // digest of the tree that is here; empty: there is none
	pull   string
}

// fits reports whether an image has a base that will do: exactly the one to be
// pulled, or one of this machine's recipe. Where the machine has a tree, the image
// must be of it, so that all kinds of box run on the same files.
func (w wanted) fits(h held, exact bool) bool {
	if w.pull != "" && (h.label.From == w.pull || slices.Contains(h.refs, w.pull)) {
		return true
	}
	if exact || w.recipe == "" && w.pull != "" {
		return false
	}
	return (w.recipe == "" || h.label.Recipe == w.recipe) && (w.root == "" || h.label.Root == w.root)
}
