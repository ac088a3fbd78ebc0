package grader

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"assay/internal/bench"
)

// failsFirst opens no candidate box at first, then one that is lost at once, and
// good ones from then on.
type failsFirst struct {
	*hostBoxes
	opened int
}

func (f *failsFirst) Candidate(ctx context.Context) (Box, error) {
	f.opened++
	switch f.opened {
	case 1:
		return nil, errors.New("no process can be started")
	case 2:
		return lostBox{}, nil
	}
	return f.hostBoxes.Candidate(ctx)
}

type lostBox struct{ Box }

func (lostBox) Reset(context.Context, bench.Tree) error {
	return fmt.Errorf("%w: killed", bench.ErrBoxLost)
}
func (lostBox) Close() error { return nil }

// A box that did not open and one that was lost are two faults, not one that
// follows the candidate.
func TestOneLossAfterAFailedOpenIsNotTheCandidates(t *testing.T) {
	g := New(&failsFirst{hostBoxes: &hostBoxes{t: t}}, Options{})
	t.Cleanup(func() { _ = g.Close() })
	out, err := g.Grade(t.Context(), solveTask(), fixtureOf(acceptance, solveIDs...), candidateOf(right))
	if err != nil || !out.Functional() || len(out.Flags) > 0 {
		explain(t, out)
		t.Errorf("error %v, fault %q, flags %v", err, out.Fault, out.Flags)
	}
}
