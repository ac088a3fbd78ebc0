package supervisor_test

import (
	"bytes"
	"fmt"
	"testing"

	"assay/internal/bench"
)

func BenchmarkOtherUID(b *testing.B) {
	box := open(b, spec{})
	var files []bench.File
	for i := range 20 {
		files = append(files, bench.File{Path: fmt.Sprintf("d%d/f%d", i%4, i), Data: bytes.Repeat([]byte{'x'}, 2300)})
	}
	tree, err := bench.NewTree(files)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		do   func() error
	}{
		{"ping", func() error { return box.Ping(b.Context()) }},
		{"put-20", func() error { return box.Put(b.Context(), tree) }},
		{"export-20", func() error {
			x, err := box.Export(b.Context(), bench.ExportLimits{Files: 30, FileBytes: 1 << 20, Bytes: 1 << 20, Depth: 8, PathBytes: 100})
			if err == nil && len(x.Tree) != 20 {
				err = fmt.Errorf("%d files came back", len(x.Tree))
			}
			return err
		}},
		{"reset-20", func() error { return box.Reset(b.Context(), tree) }},
		{"sweep", func() error { return box.Sweep(b.Context()) }},
		{"run-true", func() error {
			_, err := box.Run(b.Context(), bench.Command{Argv: []string{"/bin/true"}})
			return err
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if err := c.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
