package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"assay/internal/bench"
)

// gradings judges candidates one at a time: beside the attempts, or, without
// overlap, while no attempt runs. Its queue holds at most two entries a cell.
type gradings struct {
	x     *execution
	ctx   context.Context
	queue chan grading
	done  chan struct{}
	open  sync.WaitGroup // queued or running
	held  []grading      // without overlap: until the arm is done

	mu  sync.Mutex
	err error // first error of the recorder
}

type grading struct {
	cell bench.PlannedCell
	row  bench.AttemptRow // the attempt; of an earlier run only id, candidate and rejection are known
	last bool             // of the attempt that was finished after the run was asked to stop
}

func newGradings(ctx context.Context, x *execution) *gradings {
	g := &gradings{x: x, ctx: ctx, queue: make(chan grading, 2*len(x.states)+1), done: make(chan struct{})}
	go g.loop()
	return g
}

func (g *gradings) add(job grading) {
	if !g.x.job.Overlap {
		g.held = append(g.held, job)
		return
	}
	g.push(job)
}

func (g *gradings) push(job grading) {
	g.open.Add(1)
	g.queue <- job
}

// armDone lets held gradings run to their end before another arm begins.
func (g *gradings) armDone() {
	if g.x.job.Overlap {
		return
	}
	for _, job := range g.held {
		g.push(job)
	}
	g.held = nil
	g.open.Wait()
}

func (g *gradings) loop() {
	defer close(g.done)
	for job := range g.queue {
		if g.failed() == nil && g.ctx.Err() == nil && (job.last || !g.x.asked()) {
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
	result, err := g.judge(job)
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
	if result.Fault == "" {
		g.x.done.Add(1)
	}
	row := job.row
	row.Grading = &bench.GradingRow{
		FixtureVersion: result.FixtureVersion, FixtureDigest: result.FixtureDigest, Environment: result.Environment,
		Passed: result.Passed(), Total: len(result.Checks), Complete: result.Complete, Functional: result.Functional(),
		Flags: result.Flags, Fault: result.Fault, Checks: result.Checks, Elapsed: result.Elapsed,
	}
	return g.x.event(bench.Event{Kind: bench.EventGraded, Cell: &job.cell.Cell, Attempt: row.ID, Row: &row, Message: verdict(result)})
}

func (g *gradings) judge(job grading) (bench.Grading, error) {
	work, err := g.x.job.Work(job.cell)
	if err != nil {
		return bench.Grading{}, err
	}
	c := bench.Candidate{ID: job.row.Candidate}
	if job.row.Rejected == "" {
		if c, err = g.x.Recorder.Candidate(g.ctx, job.row.Candidate); err != nil {
			return bench.Grading{}, err
		}
	}
	c.Rejected = job.row.Rejected
	return g.x.Grader.Grade(g.ctx, work.Task, work.Fixture, c)
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

// finish lets everything that was added run to its end and ends the loop. A
// candidate that the store no longer has is an error of the run.
func (g *gradings) finish() error {
	for _, job := range g.held {
		g.push(job)
	}
	g.held = nil
	close(g.queue)
	<-g.done
	return g.failed()
}

// interrupted turns an error into ErrInterrupted where the end of the run caused
// it.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w: %v", ErrInterrupted, err)
	}
	return err
}
