package grader

import "testing"

func TestRightCandidate(t *testing.T) {
	g := gradeWith(t, &hostBoxes{t: t}, fixtureOf(acceptance, solveIDs...), candidateOf(right))
	explain(t, g)
	if !g.Functional() || len(g.Flags) != 0 {
		t.Error("want functional without flags")
	}
}
