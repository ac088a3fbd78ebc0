package link

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"
)

// grace is how long the supervisor may take, after a process should have ended
// by a limit or a kill, to say so. It covers a full sweep.
const grace = 10 * time.Second

// Run starts a process, feeds it, waits and sweeps up behind it.
func (b *Box) Run(ctx context.Context, c bench.Command) (bench.CommandResult, error) {
	input := c.Stdin
	p, err := b.start(ctx, c, input != nil, true)
	if err != nil {
		return bench.CommandResult{}, err
	}
	keep := c.Limits.KeepBytes
	if keep <= 0 {
		keep = c.Limits.OutputBytes
	}
	if keep <= 0 {
		keep = sandbox.DefaultOutputBytes
	}
	out, errs := keeper{most: keep}, keeper{most: keep}
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(&out, p.Stdout()) })
	wg.Go(func() { _, _ = io.Copy(&errs, p.Stderr()) })
	if input != nil {
		wg.Go(func() {
			_, _ = p.in.Write(input) // it may read less than it is given
			_ = p.in.Close()
		})
	}
	x, err := b.await(ctx, p, c.Limits.Wall)
	wg.Wait()
	if err == nil && ctx.Err() != nil && x.Reason == bench.ExitKilled {
		err = ctx.Err()
	}
	if err != nil {
		err = fmt.Errorf("run %q: %w", c.Argv[0], err)
	}
	return bench.CommandResult{Exit: x, Stdout: out.bytes(), Stderr: errs.bytes()}, err
}

// await waits for the end of a process, or for that of a box that does not tell
// it in time.
func (b *Box) await(ctx context.Context, p *process, wall time.Duration) (bench.Exit, error) {
	if wall <= 0 {
		wall = sandbox.DefaultWall
	}
	late := time.NewTimer(wall + grace)
	defer late.Stop()
	cancelled := ctx.Done()
	for {
		select {
		case <-p.ended:
			return p.exit, p.failure
		case <-cancelled:
			cancelled = nil
			p.Kill()
			late.Reset(grace)
		case <-late.C:
			b.lose(&sandbox.LostError{Why: "it did not tell the end of a process in time", Diagnostic: b.conn.Diagnosis()})
			<-p.ended
		}
	}
}
