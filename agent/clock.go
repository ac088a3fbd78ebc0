package agent

import (
	"context"
	"time"
)

// taskClock measures task seconds: from the first request on, monotonic, without
// model calls that an infrastructure fault lost and the waits after them. A
// simulated answer counts with the time it says, not with the time it took.
type taskClock struct {
	start  time.Time
	offset time.Duration // added to the wall time
}

func (c *taskClock) begin() {
	if c.start.IsZero() {
		c.start = time.Now()
	}
}

func (c *taskClock) elapsed() time.Duration {
	if c.start.IsZero() {
		return 0
	}
	return time.Since(c.start) + c.offset
}

// replace counts a span of wall time as another duration.
func (c *taskClock) replace(wall, counted time.Duration) { c.offset += counted - wall }

// wait sleeps until d has passed or the context ends.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
