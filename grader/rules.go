package grader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/internal/bench"
)

// maxAttributed is how many checks of one candidate may end in a fault of its own
// before the rest is not run: each costs fresh boxes twice.
const maxAttributed = 3

// maxSessions bounds the tries of one grading, whatever mixture of faults it meets.
const maxSessions = 20

// grading is one Grade call.
type grading struct {
	grader    *Grader
	task      bench.Task
	fixture   bench.Fixture
	candidate bench.Candidate
	limits    bench.FixtureLimits
	rec       *recorder
	out       bench.Grading

	reference *referenceVerdict
}

// referenceVerdict is how the reference fared under the same fixture; empty: it
// passed every check.
type referenceVerdict struct{ why string }

// judge fills the grading. Its error is the context's.
func (g *grading) judge(ctx context.Context) error {
	ids, err := frozenIDs(g.fixture)
	if err != nil {
		g.out.Fault = err.Error()
		return nil
	}
	if g.candidate.Rejected != "" {
		g.reject(ids)
		return nil
	}
	err = g.run(ctx, ids)
	for _, id := range ids[len(g.out.Checks):] {
		g.out.Checks = append(g.out.Checks, bench.CheckResult{
			ID: id, Status: bench.CheckNotRun, Message: "the grading ended before this check",
		})
	}
	if err != nil || g.out.Fault != "" {
		g.out.Complete = false
	}
	for _, c := range g.out.Checks {
		for _, f := range c.Flags {
			g.flag(f)
		}
	}
	return err
}

// frozenIDs returns the ids of a fixture, of which there must be one at least and
// none twice.
func frozenIDs(f bench.Fixture) ([]string, error) {
	if len(f.Checks) == 0 {
		return nil, fmt.Errorf("fixture %s of task %s has no check", f.Version, f.Task)
	}
	var ids []string
	for _, c := range f.Checks {
		if c.ID == "" || slices.Contains(ids, c.ID) {
			return nil, fmt.Errorf("fixture %s of task %s: check id %q is empty or occurs twice", f.Version, f.Task, c.ID)
		}
		ids = append(ids, c.ID)
	}
	return ids, nil
}

// reject fails every check of a candidate that broke a rule of the hand-over.
func (g *grading) reject(ids []string) {
	for _, id := range ids {
		g.out.Checks = append(g.out.Checks, bench.CheckResult{
			ID: id, Status: bench.CheckFailed, Flags: []bench.Flag{bench.FlagExportRejected},
			Message: clip("the workspace was not accepted: "+g.candidate.Rejected, messageMax),
		})
	}
	g.out.Complete = true // decided by the host, every id once
	g.flag(bench.FlagExportRejected)
}

// run judges the checks. A fault is tried again once in fresh boxes; one that
// repeats at the same check is the candidate's if the reference passes, else ours.
func (g *grading) run(ctx context.Context, left []string) error {
	var before *fault
	attributed := 0
	for sessions := 1; ; sessions++ {
		results, err := g.session(ctx, g.candidate.Tree, left, g.rec)
		var f *fault
		if err != nil && !errors.As(err, &f) {
			return err
		}
		if f != nil && (f.kind == faultProtocol || len(results) == len(left)) {
			// A judge that breaks the protocol, or has said all but its end frame, is
			// believed nothing.
			results = nil
		}
		g.out.Checks = append(g.out.Checks, results...)
		left = left[len(results):]
		switch {
		case f == nil:
			g.out.Complete = true
			return nil
		case sessions < maxSessions && (before == nil || len(results) > 0 || (before.kind == faultOpen) != (f.kind == faultOpen)):
			// Only the same kind of fault at the same check counts as a repeat: a box
			// that did not open says nothing of the candidate.
			before = f
			continue
		case sessions >= maxSessions:
			g.out.Fault = clip(fmt.Sprintf("gave up after the limit of %d tries: %v", maxSessions, err), messageMax)
			return nil
		case f.kind == faultOpen:
			g.out.Fault = clip(fmt.Sprintf("twice in a row: %v", err), messageMax)
			return nil
		}
		verdict, err := g.referenceUnderFixture(ctx)
		if err != nil {
			return err
		}
		if verdict.why != "" {
			g.out.Fault = clip(fmt.Sprintf("check %s: %v; and the reference under the same fixture: %s", left[0], f, verdict.why), messageMax)
			return nil
		}
		g.out.Checks = append(g.out.Checks, attribute(left[0], f))
		left, before = left[1:], nil
		attributed++
		switch {
		case f.kind == faultProtocol:
			return nil // not complete: there never was an end frame
		case len(left) == 0:
			g.out.Complete = true
			return nil
		case attributed == maxAttributed:
			return nil
		}
	}
}

// attribute makes a failed check of a fault that follows the candidate.
func attribute(id string, f *fault) bench.CheckResult {
	flag, what := bench.FlagJudgeError, "the judge failed"
	if f.kind == faultBox {
		flag, what = bench.FlagBoxLostByCandidate, "the box was lost"
	}
	return bench.CheckResult{
		ID: id, Status: bench.CheckFailed, Flags: []bench.Flag{flag},
		Message: clip(fmt.Sprintf("%s twice in this check, in fresh boxes, while the reference passes: %v", what, f), messageMax),
	}
}

// referenceUnderFixture grades the reference, once in a grading.
func (g *grading) referenceUnderFixture(ctx context.Context) (*referenceVerdict, error) {
	if g.reference != nil {
		return g.reference, nil
	}
	ids, err := frozenIDs(g.fixture)
	if err != nil {
		return nil, err
	}
	results, err := g.session(ctx, overlay(g.task.Workspace, g.task.Reference), ids, nil)
	var f *fault
	if err != nil && !errors.As(err, &f) {
		return nil, err
	}
	v := &referenceVerdict{}
	switch {
	case f != nil:
		v.why = f.Error()
	default:
		for _, r := range results {
			if r.Status != bench.CheckPassed {
				v.why = fmt.Sprintf("check %s: %s: %s", r.ID, r.Status, clip(r.Message, 1024))
				break
			}
		}
	}
	g.reference = v
	return v, nil
}

// session opens boxes, runs one judge process and closes the candidate's box. The
// judge's is kept where the session ended well.
func (g *grading) session(ctx context.Context, tree bench.Tree, ids []string, rec *recorder) ([]bench.CheckResult, error) {
	candidate, err := g.grader.boxes.Candidate(ctx)
	if err != nil {
		return nil, openError(ctx, "candidate", err)
	}
	// The box is given up; an error in closing it changes no verdict.
	defer func() { _ = candidate.Close() }()
	judge, err := g.grader.takeJudge(ctx)
	if err != nil {
		return nil, openError(ctx, "judge", err)
	}
	if rec != nil {
		g.out.Environment, g.out.Judge = environmentOf(candidate), environmentOf(judge.Box)
	}
	s := &session{
		boxes: boxes{candidate: candidate, judge: judge.Box}, fixture: g.fixture, limits: g.limits, tree: tree,
		kit: g.grader.kit, secret: g.out.Secret, rec: rec,
	}
	results, err := s.do(ctx, ids)
	if err != nil {
		_ = judge.Close()
	} else {
		g.grader.giveJudge(judge)
	}
	return results, err
}

func openError(ctx context.Context, which string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return faultf(faultOpen, "open the %s's box: %w", which, err)
}

func (g *grading) flag(f bench.Flag) {
	if !slices.Contains(g.out.Flags, f) {
		g.out.Flags = append(g.out.Flags, f)
	}
}

// overlay lays the files of top over those of base.
func overlay(base, top bench.Tree) bench.Tree {
	var out bench.Tree
	for _, f := range base {
		if _, covered := top.Get(f.Path); !covered {
			out = append(out, f)
		}
	}
	out = append(out, top...)
	slices.SortFunc(out, func(a, b bench.File) int { return strings.Compare(a.Path, b.Path) })
	return out
}
