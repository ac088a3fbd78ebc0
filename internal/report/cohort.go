package report

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/bench"
)

// maxInvalid is the share of invalid cells among the tried ones over which an
// arm gets no score.
const maxInvalid = 0.10

// noEnd is said of an attempt without an end.
const noEnd = "the runner died in it, or runs it now"

func buildCohort(v bench.CohortView) Cohort {
	c := Cohort{
		ID: v.ID, Study: v.Study, Created: v.Created.UTC(), Assay: v.Assay, Scaffold: v.Scaffold, Order: v.Order,
		Arms: map[string]Arm{}, Attempts: []Attempt{}, Warnings: []string{}, Fixtures: fixtures(v),
	}
	for _, cell := range v.Cells {
		c.planned = append(c.planned, cell.Cell)
	}
	byCell := map[bench.Cell][]bench.AttemptRow{}
	for _, a := range v.Attempts {
		byCell[a.Cell] = append(byCell[a.Cell], a)
		c.Attempts = append(c.Attempts, attempt(a))
		c.Simulated = c.Simulated || a.Simulated
	}
	for _, av := range v.Arms {
		arm := buildArm(av, v.Cells, byCell)
		c.ArmOrder = append(c.ArmOrder, av.Arm.Name)
		c.Arms[av.Arm.Name] = arm
		c.Simulated = c.Simulated || arm.Server.Simulated
	}
	c.Warnings = warnings(c)
	return c
}

func fixtures(v bench.CohortView) []Fixture {
	seen := map[Fixture]bool{}
	list := []Fixture{}
	for _, cell := range v.Cells {
		f := Fixture{cell.Task, cell.FixtureVersion, cell.FixtureDigest}
		if !seen[f] {
			seen[f] = true
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b Fixture) int {
		return strings.Compare(a.Task+"\x00"+a.Version+a.Digest, b.Task+"\x00"+b.Version+b.Digest)
	})
	return list
}

// attempt turns a row into its printed form.
func attempt(a bench.AttemptRow) Attempt {
	out := Attempt{
		ID: a.ID, Arm: a.Cell.Arm, Task: a.Cell.Task, Seed: a.Cell.Seed, Repeat: a.Cell.Repeat,
		Counts: a.Counts, Stop: string(a.Stop.Reason), StopMessage: a.Stop.Message, Turns: a.Turns,
		Candidate: a.Candidate, TaskSeconds: a.TaskSeconds, Simulated: a.Simulated,
	}
	if a.NativeRows > 0 {
		tokens, seconds := a.NativeTokens, a.DecodeMS/1000
		out.NativeOutputTokens, out.DecodeSeconds = &tokens, &seconds
	}
	if !a.Ended {
		out.StopMessage = noEnd
	}
	g := a.Grading
	if g == nil || !a.Counts {
		return out
	}
	if g.Fault != "" {
		out.GradingFault = g.Fault
		return out
	}
	functional, delivered := a.Functional(), a.Delivered()
	out.Functional, out.Delivered = &functional, &delivered
	out.ChecksPassed, out.ChecksTotal = &g.Passed, &g.Total
	out.FixtureVersion, out.Sandbox = g.FixtureVersion, g.Environment.Kind
	for _, c := range g.Checks {
		if c.Status != bench.CheckPassed {
			out.FailedChecks = append(out.FailedChecks, c.ID)
		}
	}
	for _, f := range g.Flags {
		out.Flags = append(out.Flags, string(f))
	}
	if len(a.ProtectedTouched) > 0 {
		out.Flags = append(out.Flags, string(bench.FlagProtectedModified))
	}
	if a.Rejected != "" && !slices.Contains(out.Flags, string(bench.FlagExportRejected)) {
		out.Flags = append(out.Flags, string(bench.FlagExportRejected))
	}
	return out
}

// warnings says what a reader must know before reading a figure.
func warnings(c Cohort) []string {
	w := []string{}
	if c.Simulated {
		w = append(w, "simulated: figures of the scripted engine; they say nothing about any model")
	}
	for _, f := range c.Fixtures {
		if f.Version == "v0" {
			w = append(w, fmt.Sprintf("fixture %s v0 is not released: its verdicts may change", f.Task))
		}
	}
	for _, name := range c.ArmOrder {
		a := c.Arms[name]
		if a.tooInvalid() {
			w = append(w, fmt.Sprintf("arm %s: %d of %d tried cells are invalid (more than 10 %%): no score", name, a.Invalid, a.tried()))
		}
		if a.NotRun+a.Open+a.Ungraded > 0 {
			w = append(w, fmt.Sprintf("arm %s is not complete: %s; the same run command continues", name, a.progress()))
		}
		if a.OtherResponses > 0 && a.NativeResponses > 0 {
			w = append(w, fmt.Sprintf("arm %s: %d of %d responses without usable native timing are in no decode figure", name, a.OtherResponses, a.OtherResponses+a.NativeResponses))
		}
	}
	return w
}

// tried is the number of cells of which a try said something.
func (a Arm) tried() int { return a.Complete + a.Invalid + a.Ungraded }

func (a Arm) tooInvalid() bool { return float64(a.Invalid) > maxInvalid*float64(a.tried()) }

// progress says how far an arm is that is not complete.
func (a Arm) progress() string {
	s := fmt.Sprintf("%d of %d cells", a.Complete, a.Planned)
	if a.Open > 0 {
		s += fmt.Sprintf(", %d open (running, or cut off by the end of a run)", a.Open)
	}
	if a.Ungraded > 0 {
		s += fmt.Sprintf(", %d not graded yet", a.Ungraded)
	}
	return s
}
