package boxtest

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"

	"github.com/google/go-cmp/cmp"
)

// names are those that a shell, a text protocol or another file system would
// trip over. The twins look alike: in case, or composed and decomposed.
var names = []string{
	"-rf", "--help", "~", "*", "?[a]", "$(touch x)", "`x`", "a;b", "\"q\"", "'q'", "back\\slash", " blank ", "...", ".hidden",
	"Case", "case", "CASE", "caf\u00e9", "cafe\u0301", "\u202egnp.py", strings.Repeat("x", 255), strings.Repeat("\u00e9", 127) + "x",
	".assay-incoming", "new\nline", "tab\t", "\x1b[2J", "\x7f", "\xff\xfe", "cut\xc3",
}

func (s suite) names() tests {
	// What a box prints of the names in the workspace.
	const listed = "import os, sys\nfor n in sorted(os.listdir(b'/w')): sys.stdout.buffer.write(n + b'=' + open(b'/w/' + n, 'rb').read() + b'\\0')"
	want := func() string {
		var b strings.Builder
		for _, n := range slices.Sorted(slices.Values(names)) {
			b.WriteString(n + "=of " + n + "\x00")
		}
		return b.String()
	}
	return tests{
		"written and read": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			for _, n := range names {
				write(t, b, n, "of "+n, 0o644)
				if got, err := b.ReadFile(t.Context(), n, 1000); err != nil || string(got) != "of "+n {
					t.Errorf("%q reads %q, %v", n, got, err)
				}
			}
			wantRun(t, b, python(listed), want())
			if got, err := b.ListFiles(t.Context(), "", 1000); err != nil || len(got) != len(names) {
				t.Errorf("%d of %d names are listed, %v", len(got), len(names), err)
			}
		},
		"put": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			var files []bench.File
			for _, n := range names {
				files = append(files, bench.File{Path: n, Data: []byte("of " + n)})
			}
			if err := b.Put(t.Context(), mustTree(t, files...)); err != nil {
				t.Fatal(err)
			}
			wantRun(t, b, python(listed), want())
		},
		"of folders": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			for _, n := range names {
				write(t, b, n+"/"+n, "x", 0o644)
				if got, err := b.ListFiles(t.Context(), n, 10); err != nil || len(got) != 1 {
					t.Errorf("%q: %v %v", n, got, err)
				}
			}
			if err := b.Reset(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			wantRun(t, b, python(listed), "")
		},
		"twins are exported": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			var files []bench.File
			for _, n := range []string{"Case", "case", "caf\u00e9", "cafe\u0301", "-rf", "--help", " blank ", "*", "...", strings.Repeat("x", 255)} {
				files = append(files, bench.File{Path: n, Data: []byte(n)})
			}
			want := mustTree(t, files...)
			if err := b.Put(t.Context(), want); err != nil {
				t.Fatal(err)
			}
			got, err := b.Export(t.Context(), bench.DefaultExportLimits())
			if diff := cmp.Diff(bench.Export{Tree: want}, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		},
		"too long": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			for _, n := range []string{strings.Repeat("x", 256), strings.Repeat("d/", 2100) + "x"} {
				if err := b.WriteFile(t.Context(), n, nil, 0o644); !errors.Is(err, syscall.ENAMETOOLONG) {
					t.Errorf("%d bytes: %v", len(n), err)
				}
				if _, err := b.ReadFile(t.Context(), n, 1); !errors.Is(err, syscall.ENAMETOOLONG) {
					t.Errorf("%d bytes: %v", len(n), err)
				}
			}
			healthy(t, b)
		},
		"deep tree": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			mustRun(t, b, python("import os\nfor i in range(2000): os.mkdir('deep'); os.chdir('deep')\nopen('bottom', 'w')"))
			begun := time.Now()
			if got, err := b.ListFiles(t.Context(), "", 100); err != nil || len(got) < 10 || len(got) > 101 {
				t.Errorf("%d entries listed, %v", len(got), err)
			}
			x, err := b.Export(t.Context(), bench.DefaultExportLimits())
			if err != nil || !strings.Contains(x.Rejected, "32 levels") {
				t.Errorf("%+v %v", x, err)
			}
			if err := b.Reset(t.Context(), nil); err != nil {
				t.Error(err)
			}
			took(t, "list, export and reset of a deep tree", begun, 5*time.Second)
			wantRun(t, b, python(listed), "")
		},
	}
}
