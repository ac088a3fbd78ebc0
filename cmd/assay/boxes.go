package main

import (
	"context"
	"time"

	"assay/grader"
	"assay/internal/bench"
	"assay/internal/runner"
	"assay/internal/sandbox"
	"assay/internal/sandbox/bwrap"
	"assay/internal/sandbox/rootfs"
)

// openBoxes makes the sandbox ready: its root is found, or built once.
func openBoxes(ctx context.Context, s state, note func(string)) (*bwrap.Factory, error) {
	root, err := rootfs.Ensure(ctx, rootfs.DefaultCache(s.getenv), note)
	if err != nil {
		return nil, err
	}
	return bwrap.New(root)
}

// runnerBoxes opens the boxes in which agents work.
type runnerBoxes struct {
	factory *bwrap.Factory
	limits  bench.Limits
}

// Open opens a box that outlives any attempt: it may wait for one whole attempt
// and then serve another.
func (b runnerBoxes) Open(ctx context.Context) (runner.Box, error) {
	return b.factory.Open(ctx, sandbox.Options{Purpose: sandbox.PurposeAgent, Deadline: 2*b.limits.MaxTime + time.Hour})
}

// graderBoxes opens the boxes in which candidates are judged.
type graderBoxes struct{ factory *bwrap.Factory }

func (b graderBoxes) Candidate(ctx context.Context) (grader.Box, error) {
	return b.factory.Open(ctx, sandbox.Options{Purpose: sandbox.PurposeCandidate})
}

func (b graderBoxes) Judge(ctx context.Context) (grader.Box, error) {
	return b.factory.Open(ctx, sandbox.Options{Purpose: sandbox.PurposeJudge})
}
