package main

import (
	"context"
	"time"

	"assay/grader"
	"assay/internal/bench"
	"assay/internal/runner"
	"assay/internal/sandbox"
	"assay/internal/sandbox/bwrap"
	"assay/internal/sandbox/docker"
	"assay/internal/sandbox/kinds"
	"assay/internal/sandbox/pool"

	"github.com/spf13/cobra"
)

func boxKinds() []string { return []string{kinds.Auto, docker.Kind, bwrap.Kind} }

// sandboxFlag gives a verb the flag that names a kind of box.
func sandboxFlag(c *cobra.Command, kind *string, help string) {
	c.Flags().StringVar(kind, "sandbox", kinds.Auto, help)
	_ = c.RegisterFlagCompletionFunc("sandbox", cobra.FixedCompletions(boxKinds(), cobra.ShellCompDirectiveNoFileComp)) // as in newReportCommand
}

// runnerBoxes opens the boxes in which agents work.
type runnerBoxes struct {
	factory kinds.Factory
	limits  bench.Limits
}

// Open opens a box that outlives any attempt: it may wait for one whole attempt
// and then serve another.
func (b runnerBoxes) Open(ctx context.Context) (runner.Box, error) {
	return b.factory.Open(ctx, sandbox.Options{Purpose: sandbox.PurposeAgent, Deadline: max(6*time.Hour, 2*b.limits.MaxTime+time.Hour)})
}

// graderBoxes opens the boxes in which candidates are judged.
type graderBoxes struct {
	factory    kinds.Factory
	candidates *pool.Pool
}

// newGraderBoxes keeps one candidate box started ahead.
func newGraderBoxes(f kinds.Factory) (graderBoxes, error) {
	p, err := pool.New(f, sandbox.Options{Purpose: sandbox.PurposeCandidate}, 1)
	return graderBoxes{f, p}, err
}

func (b graderBoxes) Candidate(ctx context.Context) (grader.Box, error) {
	return b.candidates.Take(ctx)
}

func (b graderBoxes) Judge(ctx context.Context) (grader.Box, error) {
	return b.factory.Open(ctx, sandbox.Options{Purpose: sandbox.PurposeJudge})
}

func (b graderBoxes) close() error { return b.candidates.Close() }
