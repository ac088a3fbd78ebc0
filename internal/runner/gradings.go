package runner

import (
	"context"
	"fmt"
	"sync"

	"assay/internal/bench"
)

// gradings judges candidates beside the attempts, one at a time. Its queue holds
// at most one entry a cell.
type gradings struct {
	x     *execution
	ctx   context.Context
	queue chan grading
	done  chan struct{}
	open  sync.WaitGroup // queued or running

	mu  sync.Mutex
	err error // first error of the recorder
}

type grading struct {
	cell bench.PlannedCell
	row  bench.AttemptRow // the attempt; of an earlier run only id, candidate and rejection are known
}

func newGradings(ctx context.Context, x *execution) *gradings {
	g := &gradings{x: x, ctx: ctx, queue: make(chan grading, 2*len(x.states)+1), done: make(chan struct{})}
	go g.loop()
	return g
}

func (g *gradings) add(job grading) error {
	if err := g.failed(); err != nil {
		return err
	}
	g.open.Add(1)
	g.queue <- job
	return nil
}

func (g *gradings) loop() {
	defer close(g.done)
	for job := range g.queue {
		if g.failed() == nil && g.ctx.Err() == nil {
			if err := g.grade(job); err != nil {
				g.mu.Lock()
				if g.err == nil {
					g.err = err
				}
				g.mu.Unlock()
			}
		}
		g.open.Done()
	}
}

// grade judges one candidate. A grading that the end of the run cuts is not
// recorded; the next run makes it.
func (g *gradings) grade(job grading) error {
	work, err := g.x.job.Work(job.cell)
	if err != nil {
		return err
	}
	c, err := g.candidate(job)
	if err != nil {
		return fmt.Errorf("candidate of attempt %d (%s): %w", job.row.ID, job.cell.Cell, err)
	}
	result, err := g.x.Grader.Grade(g.ctx, work.Task, work.Fixture, c)
	if err != nil {
		if g.ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("grade attempt %d (%s): %w", job.row.ID, job.cell.Cell, err)
	}
	rctx, cancel := context.WithTimeout(context.WithoutCancel(g.ctx), recordTimeout)
	defer cancel()
	if err := g.x.Recorder.AddGrading(rctx, job.row.ID, result); err != nil {
		return err
	}
	row := job.row
	row.Grading = &bench.GradingRow{
		FixtureVersion: result.FixtureVersion, FixtureDigest: result.FixtureDigest, Environment: result.Environment,
		Passed: result.Passed(), Total: len(result.Checks), Complete: result.Complete, Functional: result.Functional(),
		Flags: result.Flags, Fault: result.Fault, Checks: result.Checks, Elapsed: result.Elapsed,
	}
	return g.x.event(bench.Event{Kind: bench.EventGraded, Cell: &job.cell.Cell, Attempt: row.ID, Row: &row, Message: verdict(result)})
}

// candidate reads the frozen workspace back. A rejected export left no bytes.
func (g *gradings) candidate(job grading) (bench.Candidate, error) {
	if job.row.Rejected != "" {
		return bench.Candidate{ID: job.row.Candidate, Rejected: job.row.Rejected}, nil
	}
	return g.x.Recorder.Candidate(g.ctx, job.row.Candidate)
}

func verdict(g bench.Grading) string {
	switch {
	case g.Fault != "":
		return "not graded, our side failed: " + g.Fault
	case g.Functional():
		return fmt.Sprintf("functional, %d of %d checks", g.Passed(), len(g.Checks))
	}
	return fmt.Sprintf("not functional, %d of %d checks", g.Passed(), len(g.Checks))
}

func (g *gradings) failed() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// wait returns when everything that was queued is graded.
func (g *gradings) wait() error {
	g.open.Wait()
	return g.failed()
}

// finish closes the queue and waits for its end.
func (g *gradings) finish() error {
	close(g.queue)
	<-g.done
	return g.failed()
}
