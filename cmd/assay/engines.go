package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"assay/internal/bench"
	"assay/internal/config"
	"assay/internal/engine"
	"assay/internal/runner"
)

// loadWait is how long a server may say that it is loading before an arm is
// given up.
const loadWait = 10 * time.Minute

// engines opens the servers of a study's arms and keeps them open for the run.
type engines struct {
	getenv func(string) string
	limits bench.Limits
	expect map[string]config.Expect // by arm
	open   map[string]*engine.Client
}

// openEngine adapts a client to the runner's interface.
type openEngine struct{ *engine.Client }

// Close does nothing: clients are shared with the preflight and closed with the
// run.
func (openEngine) Close() error { return nil }

func (e *engines) Open(ctx context.Context, arm bench.Arm) (runner.Engine, error) {
	if c := e.open[arm.Name]; c != nil {
		return openEngine{c}, nil
	}
	c, err := engine.Open(ctx, arm, engine.Options{Getenv: e.getenv, Idle: e.limits.IdleTime, LoadWait: loadWait, MaxOutputTokens: e.limits.MaxOutputTokens})
	if err != nil {
		return nil, err
	}
	if unlike := expected(e.expect[arm.Name], c.Observed()); unlike != "" {
		c.Close()
		return nil, errors.New(unlike) // another server may come: the arm waits for it
	}
	if e.open == nil {
		e.open = map[string]*engine.Client{}
	}
	e.open[arm.Name] = c
	return openEngine{c}, nil
}

// preflight asks every arm's server once. It fails where none can be used, so
// that nothing is created for a run that cannot begin, and where the study or the
// environment is at fault.
func (e *engines) preflight(ctx context.Context, arms []bench.Arm) error {
	var faults []error
	wrong := false
	for _, arm := range arms {
		if _, err := e.Open(ctx, arm); err != nil {
			if ctx.Err() != nil {
				return runner.ErrInterrupted
			}
			var a *engine.ArmError
			if errors.As(err, &a) {
				wrong = true
				faults = append(faults, err) // it names the arm itself
				continue
			}
			faults = append(faults, fmt.Errorf("arm %s: %w", arm.Name, err))
		}
	}
	if wrong || len(arms) > 0 && len(faults) == len(arms) {
		return errors.Join(faults...)
	}
	return nil
}

func (e *engines) close() {
	for _, c := range e.open {
		c.Close()
	}
}

// expected says what of a server is not as the study expects it, or cannot be
// told, or nothing.
func expected(want config.Expect, is bench.Observed) string {
	text := func(name string, want *string, is string) string {
		switch {
		case want == nil || *want == is:
			return ""
		case is == "":
			return fmt.Sprintf("the study expects %s %q, and the server does not tell it", name, *want)
		}
		return fmt.Sprintf("the study expects %s %q, and the server has %q", name, *want, is)
	}
	number := func(name string, want, is *int64) string {
		switch {
		case want == nil || is != nil && *want == *is:
			return ""
		case is == nil:
			return fmt.Sprintf("the study expects %s %d, and the server does not tell it", name, *want)
		}
		return fmt.Sprintf("the study expects %s %d, and the server has %d", name, *want, *is)
	}
	return cmp.Or(
		text("kind", want.Kind, is.Kind),
		text("build", want.Build, is.Build),
		text("model", want.Model, is.Model),
		text("template_digest", want.TemplateDigest, is.TemplateDigest),
		number("context_per_slot", want.ContextPerSlot, is.ContextPerSlot),
		number("slots", want.Slots, is.Slots),
	)
}
