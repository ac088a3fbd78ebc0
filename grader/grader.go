package grader

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"assay/fixtures"
	"assay/internal/bench"
)

// Options of a Grader. The zero value is the usual choice.
type Options struct {
	FrameBytes int // recorded frames of one grading, in all; 0: 4 MiB
}

// Grader judges candidates. It keeps its judge boxes open between gradings, but
// never a judge process. Grade may be called from several goroutines.
type Grader struct {
	boxes   Boxes
	options Options
	kit     bench.Tree

	mu   sync.Mutex
	idle []judgeBox // that no grading uses
}

// judgeBox is an open judge box. Boxes end themselves after a while: one that is
// too old for another grading is given up before that.
type judgeBox struct {
	Box
	opened time.Time
}

const maxJudgeAge = 20 * time.Minute

// New returns a Grader that opens its boxes with b.
func New(b Boxes, o Options) *Grader {
	if o.FrameBytes <= 0 {
		o.FrameBytes = 4 << 20
	}
	return &Grader{boxes: b, options: o, kit: fixtures.Kit()}
}

// Close closes the judge boxes. No grading may run.
func (g *Grader) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	for _, b := range g.idle {
		errs = append(errs, b.Box.Close())
	}
	g.idle = nil
	return errors.Join(errs...)
}

// Grade judges candidate c of task by fixture f. What our side got wrong stands in
// Grading.Fault; the error is the context's, or says that the call itself makes no
// sense (fixture of another task, a candidate whose bytes are not those of its id).
func (g *Grader) Grade(ctx context.Context, task bench.Task, f bench.Fixture, c bench.Candidate) (bench.Grading, error) {
	if f.Task != task.Name {
		return bench.Grading{}, fmt.Errorf("fixture %s judges task %q, not %q", f.Version, f.Task, task.Name)
	}
	if id := c.Tree.Digest(); c.ID != id {
		return bench.Grading{}, fmt.Errorf("candidate %.12s: its files have the digest %.12s: they were altered", c.ID, id)
	}
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return bench.Grading{}, fmt.Errorf("draw a secret: %w", err)
	}
	r := &grading{
		grader: g, task: task, fixture: f, candidate: c, limits: withDefaults(f.Limits),
		rec: &recorder{limit: g.options.FrameBytes},
		out: bench.Grading{
			Candidate: c.ID, Task: task.Name, FixtureVersion: f.Version, FixtureDigest: f.Digest,
			Secret: secret, Started: time.Now(),
		},
	}
	r.out.Limits = r.limits
	err := r.judge(ctx)
	r.out.Frames = r.rec.result()
	r.out.Elapsed = time.Since(r.out.Started)
	return r.out, err
}

// withDefaults fills limits that a fixture leaves out.
func withDefaults(l bench.FixtureLimits) bench.FixtureLimits {
	if l.Process.Wall <= 0 {
		l.Process.Wall = 10 * time.Second
	}
	if l.Process.OutputBytes <= 0 {
		l.Process.OutputBytes = 1 << 20
	}
	// Both streams of a command go to the judge in one frame.
	l.Process.OutputBytes = min(l.Process.OutputBytes, maxOutput)
	if l.JudgeSeconds <= 0 {
		l.JudgeSeconds = 120
	}
	return l
}

// maxOutput is the most of each stream that a frame to the judge has room for.
const maxOutput = 4 << 20

// takeJudge returns an idle judge box or opens one.
func (g *Grader) takeJudge(ctx context.Context) (judgeBox, error) {
	for {
		g.mu.Lock()
		n := len(g.idle)
		if n == 0 {
			g.mu.Unlock()
			break
		}
		b := g.idle[n-1]
		g.idle = g.idle[:n-1]
		g.mu.Unlock()
		if time.Since(b.opened) < maxJudgeAge {
			return b, nil
		}
		_ = b.Close() // too old to be used; nothing of it is needed
	}
	b, err := g.boxes.Judge(ctx)
	return judgeBox{b, time.Now()}, err
}

// giveJudge keeps a judge box for the next grading.
func (g *Grader) giveJudge(b judgeBox) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.idle = append(g.idle, b)
}
