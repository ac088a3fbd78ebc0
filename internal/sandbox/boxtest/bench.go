package boxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"
)

// Bench times what the rest of the program does with boxes of a kind. Each
// benchmark reports p50-ms and p95-ms of its steps.
func Bench(b *testing.B, open Open) {
	box, err := open(b.Context(), sandbox.Options{})
	Skip(b, err)
	if err := box.Close(); err != nil {
		b.Fatal(err)
	}
	shop := bencher{open}
	b.Run("open to ready", shop.opening)
	b.Run("close", shop.closing)
	for _, c := range []struct {
		name string
		step func(context.Context, sandbox.Box) error
	}{
		{"no-op", noop},
		{"run true", func(ctx context.Context, box sandbox.Box) error {
			return exits(ctx, box, bench.Command{Argv: []string{"/usr/bin/true"}, Env: Env})
		}},
		{"run python", func(ctx context.Context, box sandbox.Box) error { return exits(ctx, box, python("pass")) }},
		{"put 20 files", func(ctx context.Context, box sandbox.Box) error { return box.Put(ctx, twenty(b)) }},
		{"export 20 files", func(ctx context.Context, box sandbox.Box) error {
			x, err := box.Export(ctx, bench.DefaultExportLimits())
			if err == nil && len(x.Tree) != 20 {
				err = fmt.Errorf("%d files were exported", len(x.Tree))
			}
			return err
		}},
		{"reset 20 files", func(ctx context.Context, box sandbox.Box) error { return box.Reset(ctx, twenty(b)) }},
		{"read a file", func(ctx context.Context, box sandbox.Box) error {
			_, err := box.ReadFile(ctx, "pkg0/file0.py", 1<<20)
			return err
		}},
		{"sweep idle", func(ctx context.Context, box sandbox.Box) error { return box.Sweep(ctx) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			box := shop.box(b)
			if err := box.Put(b.Context(), twenty(b)); err != nil {
				b.Fatal(err)
			}
			timed(b, nil, func() error { return c.step(b.Context(), box) })
		})
	}
	b.Run("sweep of a daemon", shop.sweepDaemon)
}

type bencher struct{ open Open }

func (s bencher) box(b *testing.B) sandbox.Box {
	box, err := s.open(b.Context(), sandbox.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = box.Close() })
	return box
}

func (s bencher) opening(b *testing.B) {
	var last sandbox.Box
	done := func() error {
		if last == nil {
			return nil
		}
		return last.Close()
	}
	timed(b, done, func() (err error) {
		last, err = s.open(b.Context(), sandbox.Options{})
		return err
	})
	if err := done(); err != nil {
		b.Fatal(err)
	}
}

func (s bencher) closing(b *testing.B) {
	var box sandbox.Box
	timed(b, func() (err error) {
		box, err = s.open(b.Context(), sandbox.Options{})
		return err
	}, func() error { return box.Close() })
}

func (s bencher) sweepDaemon(b *testing.B) {
	box := s.box(b)
	timed(b, func() error {
		p, err := box.Start(b.Context(), python(daemon))
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, p.Stdout())
		return err
	}, func() error { return box.Sweep(b.Context()) })
}

// timed times step alone, each after before.
func timed(b *testing.B, before, step func() error) {
	var took []time.Duration
	for b.Loop() {
		if before != nil {
			b.StopTimer()
			if err := before(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		start := time.Now()
		if err := step(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	at := func(q float64) float64 {
		return float64(took[min(int(q*float64(len(took))), len(took)-1)].Microseconds()) / 1000
	}
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.95), "p95-ms")
}

func noop(ctx context.Context, box sandbox.Box) error {
	p, ok := box.(interface{ Ping(context.Context) error })
	if !ok {
		return errors.New("the box has no no-op: give it a Ping")
	}
	return p.Ping(ctx)
}

func exits(ctx context.Context, box sandbox.Box, c bench.Command) error {
	r, err := box.Run(ctx, c)
	if err == nil && (r.Reason != bench.ExitExited || r.Code != 0) {
		err = fmt.Errorf("%+v %s", r.Exit, r.Stderr)
	}
	return err
}

// twenty is a workspace of the usual size: 46 kB.
func twenty(t testing.TB) bench.Tree {
	t.Helper()
	var files []bench.File
	for i := range 20 {
		files = append(files, bench.File{Path: fmt.Sprintf("pkg%d/file%d.py", i%4, i), Data: bytes.Repeat([]byte{'x'}, 2300)})
	}
	return mustTree(t, files...)
}
