package docker

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"
	"assay/internal/sandbox/boxtest"
)

// withFactory gives a test a factory of its own, whose boxes nobody else counts.
func withFactory(t *testing.T) *Factory {
	t.Helper()
	_, err := ours()
	boxtest.Skip(t, err)
	f, err := newFactory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// noneLeft waits until the engine has no box of a factory.
func noneLeft(t *testing.T, f *Factory) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		left, err := list(t.Context(), f.engine.cli, labelOwner, f.owner.token)
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d boxes are left", len(left))
		}
	}
}

// A container that somebody removes takes its box with it, and the error says so.
func TestRemovedByHand(t *testing.T) {
	f := withFactory(t)
	b, err := f.Open(t.Context(), sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	done := make(chan error, 1)
	go func() {
		_, err := b.Run(context.Background(), boxtest.Shell("sleep 100"))
		done <- err
	}()
	all, err := list(t.Context(), f.engine.cli, labelOwner, f.owner.token)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d boxes, %v", len(all), err)
	}
	if err := remove(t.Context(), f.engine.cli, all[0].ID); err != nil {
		t.Fatal(err)
	}
	err = <-done
	var e *Error
	if !errors.Is(err, bench.ErrBoxLost) || !errors.As(err, &e) || e.Fault != FaultContainer {
		t.Errorf("got %v", err)
	}
	if err := b.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// A start that is given up in any phase leaves nothing.
func TestGivenUpDuringAStart(t *testing.T) {
	f := withFactory(t)
	for _, at := range []string{"created", "attached", "started"} {
		ctx, cancel := context.WithCancel(t.Context())
		f.phase = func(p string) {
			if p == at {
				cancel()
			}
		}
		b, err := f.Open(ctx, sandbox.Options{})
		if err == nil { // it was ready before anybody looked
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", at, err)
		}
		noneLeft(t, f)
		cancel()
	}
}

func TestImageRemoved(t *testing.T) {
	f := withFactory(t)
	f.image.ID = "sha256:00000000000000000000000000000000000000000000000000000000000000aa"
	_, err := f.Open(t.Context(), sandbox.Options{})
	var e *Error
	if !errors.As(err, &e) || e.Fault != FaultImage || e.Cure == "" {
		t.Errorf("got %v", err)
	}
}

// A reaper that was killed is replaced, and the new one does its work.
func TestKilledReaperIsReplaced(t *testing.T) {
	f := withFactory(t)
	b, err := f.Open(t.Context(), sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	first := f.reaper.ended
	if err := syscall.Kill(f.reaper.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-first
	if err := f.reaper.ensure(); err != nil {
		t.Fatal(err)
	}
	if f.reaper.ended == first {
		t.Fatal("nobody took the place of the dead reaper")
	}
	if err := f.reaper.close(false); err != nil { // as if we had died
		t.Fatal(err)
	}
	noneLeft(t, f)
}

// A run that starts removes what a dead one left, and nothing of one that lives.
func TestSweepAtStart(t *testing.T) {
	f := withFactory(t)
	ghost := f.owner
	ghost.pid, ghost.token = 1<<30, "GHOST"
	dead := &Factory{engine: f.engine, image: f.image, owner: ghost, reaper: f.reaper, phase: f.phase}
	o, err := sandbox.Options{}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dead.create(t.Context(), o, 58001); err != nil {
		t.Fatal(err)
	}
	b, err := f.Open(t.Context(), sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := f.engine.SweepDead(t.Context()); err != nil {
		t.Error(err)
	}
	if left, err := list(t.Context(), f.engine.cli, labelOwner, ghost.token); err != nil || len(left) > 0 {
		t.Errorf("%d boxes of the dead run, %v", len(left), err)
	}
	if _, err := b.Run(t.Context(), boxtest.Shell("true")); err != nil {
		t.Errorf("the box of a living run: %v", err)
	}
}
