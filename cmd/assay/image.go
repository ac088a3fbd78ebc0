package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"assay/internal/runner"
	"assay/internal/sandbox/docker"
	"assay/internal/sandbox/docker/image"
	"assay/internal/sandbox/kinds"

	"github.com/spf13/cobra"
)

func newImageCommand(s state) *cobra.Command {
	c := &cobra.Command{
		Use:   "image",
		Short: "Make, show and remove the docker image of boxes",
		Long: `A run makes the image of its boxes when it first needs it; these commands do it
ahead, or show what is there. The image has Debian packages in one layer and
this program in the next; neither a registry nor a builder is needed.

ASSAY_IMAGE=REPOSITORY@sha256:DIGEST names a published image to pull instead of
building from packages. ASSAY_CACHE is the folder for what is built.
` + exitHelp,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	var asJSON bool
	c.PersistentFlags().BoolVar(&asJSON, "json", false, "print JSON")
	verb := func(name, short string, do func(context.Context, imageVerb) error) *cobra.Command {
		return &cobra.Command{Use: name, Short: short, Long: short + ".\n" + exitHelp, Args: noArgs, RunE: func(*cobra.Command, []string) error {
			return withEngine(s, asJSON, do)
		}}
	}
	c.AddCommand(
		verb("build", "Find the image of boxes, or pull or build it", buildImage),
		verb("show", "Show the image of boxes of this program, if the engine has it", showImage),
		verb("prune", "Remove images of other versions of assay that no container uses", pruneImages),
	)
	return c
}

// imageVerb is what every verb about images has.
type imageVerb struct {
	state
	json    bool
	out     *progress
	engine  *docker.Engine
	options image.Options
}

func withEngine(s state, asJSON bool, do func(context.Context, imageVerb) error) error {
	out := newProgress(s, false)
	stops := listen(s, out)
	defer stops.end()
	o, err := kinds.ImageOptions(s.getenv)
	if err != nil {
		return err
	}
	e, err := docker.Connect(stops.ctx)
	if err == nil {
		defer e.Close()
		err = do(stops.ctx, imageVerb{s, asJSON, out, e, o})
	}
	if errors.Is(err, context.Canceled) && stops.ctx.Err() != nil {
		return fmt.Errorf("%w: %v", runner.ErrInterrupted, err)
	}
	return err
}

func buildImage(ctx context.Context, v imageVerb) error {
	start := time.Now()
	im, err := image.Ensure(ctx, v.engine.Client(), v.options, v.out.note)
	if err != nil {
		return err
	}
	seconds := time.Since(start).Seconds()
	return v.print(im, &seconds)
}

func showImage(ctx context.Context, v imageVerb) error {
	im, ok, err := image.Find(ctx, v.engine.Client(), v.options)
	if err != nil {
		return err
	}
	if !ok {
		return incompleteError{fmt.Sprintf("the docker engine at %s has no image of boxes for this program; make it with: assay image build", v.engine.Host())}
	}
	return v.print(im, nil)
}

func pruneImages(ctx context.Context, v imageVerb) error {
	keep, _, err := image.Find(ctx, v.engine.Client(), v.options)
	if err != nil {
		return err
	}
	removed, err := image.Prune(ctx, v.engine.Client(), keep)
	if v.json {
		list := []imageJSON{}
		for _, im := range removed {
			list = append(list, jsonOf(im))
		}
		return errors.Join(err, v.encode(struct {
			Schema  int         `json:"schema"`
			Removed []imageJSON `json:"removed"`
		}{1, list}))
	}
	for _, im := range removed {
		if _, werr := fmt.Fprintf(v.stdout, "removed %s (%s)\n", im.Ref, im.ID); werr != nil {
			return errors.Join(err, werr)
		}
	}
	if err == nil && len(removed) == 0 {
		_, err = fmt.Fprintln(v.stdout, "nothing to remove")
	}
	return err
}

type imageJSON struct {
	ID           string   `json:"id"`
	Tag          string   `json:"tag"`
	Layers       []string `json:"layers"`
	Architecture string   `json:"architecture"`
	Suite        string   `json:"suite"`
	Python       string   `json:"python"`
	Packages     string   `json:"packages"`
	Root         string   `json:"root"`
	Supervisor   string   `json:"supervisor"`
	From         string   `json:"from,omitempty"`
	Bytes        int64    `json:"bytes"`
	Origin       string   `json:"origin"`
}

func jsonOf(im image.Image) imageJSON {
	return imageJSON{
		im.ID, im.Ref, im.Layers, im.Architecture, im.Suite, im.Python, im.PackagesDigest, im.RootDigest, im.Supervisor, im.From, im.Size, string(im.Origin),
	}
}

// print says what an image is; seconds is nil where nothing was done.
func (v imageVerb) print(im image.Image, seconds *float64) error {
	if v.json {
		return v.encode(struct {
			Schema int `json:"schema"`
			imageJSON
			Seconds *float64 `json:"seconds,omitempty"`
		}{1, jsonOf(im), seconds})
	}
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "%-13s %s\n", name, value) }
	line("id", im.ID)
	line("tag", im.Ref)
	for i, l := range im.Layers {
		line(fmt.Sprintf("layer %d", i+1), l)
	}
	line("architecture", im.Architecture)
	line("python", fmt.Sprintf("%s (Debian %s)", im.Python, im.Suite))
	line("packages", im.PackagesDigest)
	line("size", fmt.Sprintf("%.1f MB", float64(im.Size)/1e6))
	if im.From != "" {
		line("pulled from", im.From)
	}
	line("origin", string(im.Origin))
	if seconds != nil {
		line("seconds", fmt.Sprintf("%.2f", *seconds))
	}
	_, err := fmt.Fprint(v.stdout, b.String())
	return err
}

func (v imageVerb) encode(what any) error {
	e := json.NewEncoder(v.stdout)
	e.SetIndent("", "  ")
	return e.Encode(what)
}
