package grader

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"assay/fixtures"
	"assay/internal/bench"
	"assay/internal/sandbox"
	"assay/internal/sandbox/boxtest"
	"assay/internal/sandbox/bwrap"
	"assay/internal/sandbox/docker"
	"assay/internal/sandbox/kinds"
	"assay/internal/sandbox/pool"
	"assay/tasks"
)

// BenchmarkGradings judges the reference of ledger again and again: on processes
// of this machine without a box ("bare"), in bwrap and in docker boxes.
func BenchmarkGradings(b *testing.B) {
	task, err := tasks.Render("ledger", bench.VariantFixed, 0)
	if err != nil {
		b.Fatal(err)
	}
	f, err := fixtures.Load(fixtures.Versions("ledger")[0], task)
	if err != nil {
		b.Fatal(err)
	}
	reference := bench.NewCandidate(bench.Export{Tree: task.Reference})
	for _, kind := range []string{"bare", bwrap.Kind, docker.Kind} {
		for _, workers := range []int{1, 2, 4} {
			b.Run(fmt.Sprintf("%s/workers=%d", kind, workers), func(b *testing.B) {
				g := New(boxesOf(b, kind, workers), Options{})
				defer g.Close()
				judge := func() {
					out, err := g.Grade(b.Context(), task, f, reference)
					// Bare, nothing keeps root from reading a file of mode 000: one check fails.
					if err != nil || !out.Complete || out.Passed() != len(f.Checks) && kind != "bare" {
						b.Errorf("the reference passes %d checks of %d (%v, %s)", out.Passed(), len(f.Checks), err, out.Fault)
					}
				}
				var wg sync.WaitGroup
				work := make(chan bool)
				for range workers {
					wg.Go(func() {
						for range work {
							judge()
						}
					})
				}
				n := 0
				for b.Loop() {
					work <- true
					n++
				}
				close(work)
				wg.Wait()
				b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "gradings/s")
			})
		}
	}
}

// pooled grades in boxes of one kind, candidate boxes started ahead.
type pooled struct {
	kinds.Factory
	candidates *pool.Pool
}

func (p pooled) Candidate(ctx context.Context) (Box, error) { return p.candidates.Take(ctx) }

func (p pooled) Judge(ctx context.Context) (Box, error) {
	return p.Open(ctx, sandbox.Options{Purpose: sandbox.PurposeJudge})
}

func boxesOf(b *testing.B, kind string, ahead int) Boxes {
	if kind == "bare" {
		return &hostBoxes{t: b}
	}
	f, err := kinds.Open(b.Context(), kind, os.Getenv, func(line string) { b.Log(line) })
	boxtest.Skip(b, err)
	b.Cleanup(func() { _ = f.Close() })
	p, err := pool.New(f, sandbox.Options{}, ahead)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.Close() })
	return pooled{f, p}
}
