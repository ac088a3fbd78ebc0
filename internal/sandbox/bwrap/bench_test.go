package bwrap

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"
	"assay/internal/sandbox/boxtest"
	"assay/internal/sandbox/link"
)

// timed reports p50 and p95 of a step beside the mean of the benchmark.
func timed(b *testing.B, step func() error) {
	var took []time.Duration
	for b.Loop() {
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

func benchBox(b *testing.B) *link.Box {
	box, err := open(b.Context(), sandbox.Options{})
	boxtest.Skip(b, err)
	b.Cleanup(func() { _ = box.Close() })
	return box.(*link.Box)
}

func BenchmarkOpen(b *testing.B) {
	_ = benchBox(b)
	var boxes []sandbox.Box
	timed(b, func() error {
		box, err := open(b.Context(), sandbox.Options{})
		boxes = append(boxes, box)
		return err
	})
	for _, box := range boxes {
		_ = box.Close()
	}
}

func BenchmarkOpenClose(b *testing.B) {
	_ = benchBox(b)
	timed(b, func() error {
		box, err := open(b.Context(), sandbox.Options{})
		if err != nil {
			return err
		}
		return box.Close()
	})
}

func BenchmarkPing(b *testing.B) {
	box := benchBox(b)
	timed(b, func() error { return box.Ping(b.Context()) })
}

func BenchmarkReadFile(b *testing.B) {
	box := benchBox(b)
	if err := box.WriteFile(b.Context(), "dir/file.py", bytes.Repeat([]byte{'x'}, 4096), 0o644); err != nil {
		b.Fatal(err)
	}
	timed(b, func() error {
		_, err := box.ReadFile(b.Context(), "dir/file.py", 1<<20)
		return err
	})
}

func BenchmarkReset20Files(b *testing.B) {
	box := benchBox(b)
	var files []bench.File
	for i := range 20 {
		files = append(files, bench.File{Path: fmt.Sprintf("pkg%d/file%d.py", i%4, i), Data: bytes.Repeat([]byte{'x'}, 2300)})
	}
	tree, err := bench.NewTree(files)
	if err != nil {
		b.Fatal(err)
	}
	timed(b, func() error { return box.Reset(b.Context(), tree) })
}

func BenchmarkRun(b *testing.B) {
	for _, c := range []struct {
		name string
		argv []string
	}{
		{"true", []string{"/usr/bin/true"}},
		{"python", []string{"/usr/bin/python3", "-I", "-c", "pass"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			box := benchBox(b)
			timed(b, func() error {
				r, err := box.Run(context.Background(), bench.Command{Argv: c.argv, Env: boxtest.Env})
				if err == nil && r.Code != 0 {
					err = fmt.Errorf("%+v %s", r.Exit, r.Stderr)
				}
				return err
			})
		})
	}
}
