package boxtest

import (
	"strings"
	"testing"

	"assay/internal/bench"
)

// rejections are workspaces that break a rule or a cap: nothing of them is taken.
func (s suite) rejections() tests {
	all := tests{}
	small := bench.ExportLimits{Files: 3, FileBytes: 1000, Bytes: 2000, Depth: 3, PathBytes: 40}
	for name, c := range map[string]struct {
		source string
		names  []string // what the rejection must name; none: accepted
	}{
		"at every cap":     {"os.makedirs('a/b')\nfor n in ('a/b/'+'x'*36, 'u'): open(n,'w').write('y'*1000)\nopen('v','w')", nil},
		"too many files":   {"for i in range(4): open(f'f{i}','w')", []string{"3 files", "f3"}},
		"file too large":   {"open('big','w').write('y'*1001)", []string{"1001", "1000", "big"}},
		"sparse":           {"open('holes','w').truncate(5<<30)", []string{"5368709120", "sparse", "holes"}},
		"too much":         {"for i in range(3): open(f'f{i}','w').write('y'*900)", []string{"2700", "2000", "f2"}},
		"too deep":         {"os.makedirs('a/b/c/d')", []string{"3 levels", "a/b/c/d"}},
		"path too long":    {"open('x'*41,'w')", []string{"41", "40", "xxxxx"}},
		"not UTF-8":        {"open(b'a\\xff','w')", []string{"UTF-8", `"a\xff"`}},
		"control bytes":    {"os.mkdir('a\\x1b[2J')", []string{"UTF-8", `"a\x1b[2J"`}},
		"too many entries": {"for i in range(400):\n os.mkdir(f'd{i}')\n for j in range(50): os.mkdir(f'd{i}/{j}')", []string{"20000 entries"}},
		"too many links":   {"for i in range(19000): os.symlink('x', '<'*30 + str(i))", []string{"bytes of paths"}},
	} {
		all[name] = func(t *testing.T) {
			x := s.exported(t, c.source, small)
			if len(c.names) == 0 {
				if x.Rejected != "" || len(x.Tree) != 3 {
					t.Errorf("rejected: %s, %d files", x.Rejected, len(x.Tree))
				}
				return
			}
			if len(x.Tree) != 0 {
				t.Errorf("rejected and still %d files", len(x.Tree))
			}
			for _, n := range c.names {
				if !strings.Contains(x.Rejected, n) {
					t.Errorf("%q does not name %q", x.Rejected, n)
				}
			}
		}
	}
	return all
}
