package boxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"assay/internal/bench"
	"assay/internal/sandbox"
)

func (s suite) life() tests {
	return tests{
		"environment is told": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			e := b.Environment()
			if e.Kind == "" || len(e.Root) != 64 || len(e.PackagesDigest) != 64 {
				t.Errorf("%+v", e)
			}
			if got := mustRun(t, b, python("import platform; print(platform.python_version())")); got != e.Python+"\n" {
				t.Errorf("Python is %q, the environment says %q", got, e.Python)
			}
		},
		"close": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			p, err := b.Start(t.Context(), Shell("sleep 1000"))
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					if err := b.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if _, err := p.Wait(t.Context()); !isLost(err) {
				t.Errorf("wait: %v", err)
			}
			if _, err := p.Stdout().Read(make([]byte, 1)); !isLost(err) {
				t.Errorf("stdout: %v", err)
			}
			if _, err := b.Run(t.Context(), Shell("true")); !isLost(err) {
				t.Errorf("run: %v", err)
			}
			if _, err := b.ReadFile(t.Context(), "x", 1); !isLost(err) {
				t.Errorf("read: %v", err)
			}
			if _, err := b.Export(t.Context(), bench.DefaultExportLimits()); !isLost(err) {
				t.Errorf("export: %v", err)
			}
		},
		"close during a run": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			write(t, b, "go", "", 0o644)
			done := make(chan error, 1)
			go func() {
				_, err := b.Run(context.Background(), Shell("rm go; sleep 1000"))
				done <- err
			}()
			waitGone(t, b, "go")
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			if err := <-done; !isLost(err) {
				t.Errorf("got %v", err)
			}
		},
		"parallel calls on one box": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			var wg sync.WaitGroup
			for i := range 6 {
				wg.Go(func() {
					path, data := fmt.Sprintf("f%d", i), bytes.Repeat([]byte{byte(i)}, 100_000)
					for range 5 {
						if err := b.WriteFile(t.Context(), path, data, 0o644); err != nil {
							t.Error(err)
						}
						if got, err := b.ReadFile(t.Context(), path, 1<<20); err != nil || !bytes.Equal(got, data) {
							t.Errorf("%s: %d bytes, %v", path, len(got), err)
						}
					}
					if r, err := b.Run(t.Context(), Shell("echo "+path)); err != nil || string(r.Stdout) != path+"\n" {
						t.Errorf("%s: %+v %q %v", path, r.Exit, r.Stdout, err)
					}
				})
			}
			wg.Wait()
		},
		"an abandoned request does not hurt": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			write(t, b, "f", strings.Repeat("x", 1<<20), 0o644)
			for range 20 {
				ctx, cancel := context.WithCancel(t.Context())
				go cancel()
				if _, err := b.ReadFile(ctx, "f", 1<<20); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
			healthy(t, b)
		},
		"open with an ended context": func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if b, err := s.Open(ctx, sandbox.Options{}); !errors.Is(err, context.Canceled) {
				t.Errorf("%v %v", b, err)
			}
		},
	}
}
