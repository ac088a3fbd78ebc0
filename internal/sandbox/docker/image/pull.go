package image

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"assay/internal/sandbox"

	"github.com/moby/moby/client"
)

const pullTime = 5 * time.Minute

// checkPull refuses a reference whose content may change.
func checkPull(ref string) error {
	repo, digest, ok := strings.Cut(ref, "@")
	name := repo[strings.LastIndex(repo, "/")+1:]
	if !ok || !isDigest(digest) || strings.Contains(name, ":") || !regexp.MustCompile(`^[a-z0-9.:/_-]+$`).MatchString(repo) {
		return &sandbox.UnavailableError{
			Problem: fmt.Sprintf("%q does not name one image: a tag can point to another image tomorrow", ref),
			Cure:    "write it as repository@sha256: and the 64 digits of its digest, with no tag",
		}
	}
	return nil
}

// pulled pulls the base and lays the program on it.
func (m *maker) pulled(ctx context.Context, all []held) (Image, error) {
	for _, h := range all {
		if h.image.Architecture == m.program.architecture && (wanted{pull: m.o.Pull}).fits(h, true) {
			return m.derive(ctx, h, m.o.Pull, Pulled)
		}
	}
	if err := m.pull(ctx); err != nil {
		return Image{}, err
	}
	ictx, cancel := context.WithTimeoutCause(ctx, answerTime, errSlow)
	defer cancel()
	h, err := m.inspect(ictx, m.o.Pull)
	var unfit *unfitError
	if errors.As(err, &unfit) {
		return Image{}, m.notOurs(unfit.why)
	}
	if err != nil {
		return Image{}, err
	}
	_, digest, _ := strings.Cut(m.o.Pull, "@")
	if !slices.ContainsFunc(h.refs, func(r string) bool { return strings.HasSuffix(r, "@"+digest) }) {
		return Image{}, m.notOurs(fmt.Sprintf("the engine has it as %v", h.refs))
	}
	if h.image.Architecture != m.program.architecture {
		return Image{}, &sandbox.UnavailableError{
			Problem: fmt.Sprintf("image %s is for %s, and %s is built for %s", m.o.Pull, h.image.Architecture, m.o.Program, m.program.architecture),
			Cure:    fmt.Sprintf("name the digest of the image for %s, or unset ASSAY_IMAGE to build from packages", m.program.architecture),
		}
	}
	return m.derive(ctx, h, m.o.Pull, Pulled)
}

func (m *maker) notOurs(why string) error {
	return &sandbox.UnavailableError{
		Problem: fmt.Sprintf("image %s was pulled and is no image of boxes: %s", m.o.Pull, why),
		Cure:    "name an image that assay made, or unset ASSAY_IMAGE to build from packages",
	}
}

// pull has the engine pull, within a time, and tells how far it is.
func (m *maker) pull(ctx context.Context) error {
	limit := m.o.PullTimeout
	if limit <= 0 {
		limit = pullTime
	}
	registry, _, _ := strings.Cut(m.o.Pull, "/")
	late := &sandbox.UnavailableError{
		Problem: fmt.Sprintf("registry %s did not deliver %s within %v", registry, m.o.Pull, limit),
		Cure:    "check that the docker engine reaches the registry (docker pull), allow more time, or unset ASSAY_IMAGE to build from packages",
	}
	pctx, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	m.say("pulling " + m.o.Pull)
	answer, err := m.engine.ImagePull(pctx, m.o.Pull, client.ImagePullOptions{})
	if err == nil {
		p := pullProgress{ref: m.o.Pull, say: m.say, layers: map[string]message{}, last: time.Now()}
		err = readMessages(answer, p.take)
		_ = answer.Close()
	}
	if err == nil {
		return nil
	}
	if pctx.Err() != nil {
		return context.Cause(pctx)
	}
	err = failed("pull "+m.o.Pull, err)
	var full *sandbox.UnavailableError
	if errors.As(err, &full) {
		return err
	}
	return &sandbox.UnavailableError{
		Problem: err.Error(),
		Cure:    "check the name and that the docker engine reaches the registry (docker pull), or unset ASSAY_IMAGE to build from packages",
	}
}

// pullProgress puts the engine's many small messages into words, one a second.
type pullProgress struct {
	ref    string
	say    func(string)
	layers map[string]message // the latest of each, by id
	last   time.Time
}

func (p *pullProgress) take(m message) {
	if m.ID == "" || len(p.layers) >= maxLayers {
		return
	}
	if old := p.layers[m.ID]; m.Progress.Total == 0 {
		m.Progress = old.Progress
	}
	p.layers[m.ID] = m
	if time.Since(p.last) < time.Second {
		return
	}
	p.last = time.Now()
	done, current, total := 0, int64(0), int64(0)
	for _, l := range p.layers {
		current, total = current+l.Progress.Current, total+l.Progress.Total
		if l.Status == "Pull complete" || l.Status == "Already exists" {
			done++
		}
	}
	p.say(fmt.Sprintf("pulling %s: %d of %d layers done, %d of %d MB in hand", p.ref, done, len(p.layers), current>>20, total>>20))
}
