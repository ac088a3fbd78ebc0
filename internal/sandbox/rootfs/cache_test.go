package rootfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/bench"
)

// tree makes a small tree in a cache with a manifest that fits.
func tree(t *testing.T) (cache, id string) {
	t.Helper()
	cache, id = t.TempDir(), recipe{suite: "bookworm"}.id()
	root := treePath(cache, id)
	if err := os.MkdirAll(filepath.Join(root, "usr/bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "usr/bin/python3"), []byte("program"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("usr/bin", filepath.Join(root, "bin")); err != nil {
		t.Fatal(err)
	}
	m := manifest{Schema: manifestSchema, Recipe: id, Suite: "bookworm", Python: "3.11.2", Packages: []string{"a 1 all", "b 2 all"}}
	var err error
	if m.Digest, err = contents(root); err != nil {
		t.Fatal(err)
	}
	if m.Outline, err = outline(root); err != nil {
		t.Fatal(err)
	}
	if err := m.save(cache); err != nil {
		t.Fatal(err)
	}
	return cache, id
}

func TestFind(t *testing.T) {
	t.Parallel()
	cache, id := tree(t)
	r, ok, err := find(cache, id)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if r.Path != treePath(cache, id) || len(r.Digest) != 64 || r.Python != "3.11.2" || r.PackagesDigest != bench.Digest([]byte("a 1 all\nb 2 all\n")) || r.Recipe != id || r.Suite != "bookworm" || r.Architecture != "" {
		t.Errorf("%+v", r)
	}
	for name, harm := range map[string]func(root, manifest string) error{
		"no manifest":     func(_, m string) error { return os.Remove(m) },
		"broken manifest": func(_, m string) error { return os.WriteFile(m, []byte("{"), 0o644) },
		"no tree":         func(root, _ string) error { return os.RemoveAll(root) },
		"file changed": func(root, _ string) error {
			return os.WriteFile(root+"/usr/bin/python3", []byte("longer program"), 0o755)
		},
		"file touched": func(root, _ string) error { return os.Chtimes(root+"/usr/bin/python3", time.Time{}, time.Unix(1, 0)) },
		"file added":   func(root, _ string) error { return os.WriteFile(root+"/new", nil, 0o644) },
		"mode changed": func(root, _ string) error { return os.Chmod(root+"/usr", 0o700) },
		"link changed": func(root, _ string) error {
			_ = os.Remove(root + "/bin")
			return os.Symlink("usr", root+"/bin")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache, id := tree(t)
			if err := harm(treePath(cache, id), manifestPath(cache, id)); err != nil {
				t.Fatal(err)
			}
			if r, ok, err := find(cache, id); ok || err != nil {
				t.Errorf("%+v %v %v", r, ok, err)
			}
		})
	}
}

func TestDigestOfContents(t *testing.T) {
	t.Parallel()
	cacheA, id := tree(t)
	cacheB, _ := tree(t)
	a, err := contents(treePath(cacheA, id))
	if err != nil {
		t.Fatal(err)
	}
	python := treePath(cacheB, id) + "/usr/bin/python3"
	if err := os.Chtimes(python, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if b, err := contents(treePath(cacheB, id)); err != nil || a != b {
		t.Errorf("times count: %s %s %v", a, b, err)
	}
	if err := os.WriteFile(python, []byte("Program"), 0o755); err != nil {
		t.Fatal(err)
	}
	if b, err := contents(treePath(cacheB, id)); err != nil || a == b {
		t.Errorf("content does not count: %v", err)
	}
}

func TestRecipe(t *testing.T) {
	t.Parallel()
	a, b := recipe{suite: "bookworm"}, recipe{suite: "trixie"}
	if a.id() == b.id() || a.id() != (recipe{suite: "bookworm"}).id() {
		t.Error("the id of a recipe is not a function of it")
	}
	args := strings.Join(a.args("/target", []string{`Acquire::http::Proxy "p";`}), "\n")
	for _, want := range []string{"--variant=custom", "python3", "merged-usr", `--aptopt=Acquire::http::Proxy "p";`, "path-exclude=/usr/share/doc/*", "bookworm\n/target\n-"} {
		if !strings.Contains(args, want) {
			t.Errorf("%q is not in\n%s", want, args)
		}
	}
}

func TestDefaultCache(t *testing.T) {
	t.Parallel()
	env := func(kv map[string]string) func(string) string { return func(k string) string { return kv[k] } }
	if got := DefaultCache(env(map[string]string{"ASSAY_CACHE": "/c", "HOME": "/h"})); got != "/c" {
		t.Error(got)
	}
	got := DefaultCache(env(map[string]string{"HOME": "/h"}))
	want := "/h/.cache/assay"
	if os.Geteuid() == 0 {
		want = System
	}
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestLastLines(t *testing.T) {
	t.Parallel()
	if got := lastLines("a\nb\nc\n", 2); got != "b\nc" {
		t.Error(got)
	}
	if got := lastLines("a", 2); got != "a" {
		t.Error(got)
	}
}
