package link

import (
	"context"
	"fmt"
	"slices"
	"time"

	"assay/internal/sandbox"
	"assay/internal/sandbox/frame"
)

// abandon leaves a request that nobody waits for any more. The box does it all
// the same, at a time of its own: a sweep of it would end a process that was
// started meanwhile.
func (b *Box) abandon(answer <-chan frame.Frame) {
	done := make(chan struct{})
	b.mu.Lock()
	b.left = append(b.left, done)
	b.mu.Unlock()
	go func() {
		defer close(done)
		select {
		case <-answer:
		case <-b.gone:
		}
	}()
}

// settle waits until every abandoned request is done. Whatever is asked for
// comes after it.
func (b *Box) settle(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	left := b.left
	b.mu.Unlock()
	if len(left) == 0 {
		return nil
	}
	timer := time.NewTimer(opTime)
	defer timer.Stop()
	for _, done := range left {
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			b.lose(&sandbox.LostError{Why: fmt.Sprintf("no answer to an abandoned request within %s", opTime), Diagnostic: b.conn.Diagnosis()})
			return b.lostError()
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = slices.DeleteFunc(slices.Clone(b.left), func(done chan struct{}) bool { return slices.Contains(left, done) })
	return nil
}
