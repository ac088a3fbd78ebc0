package doctor

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tree is a root folder made of files and their text.
func tree(files map[string]string) fs.FS {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

// sealed refuses to read one file.
type sealed struct {
	fs.FS
	path string
	err  error
}

func (s sealed) Open(name string) (fs.File, error) {
	if name == s.path {
		return nil, &fs.PathError{Op: "open", Path: name, Err: s.err}
	}
	return s.FS.Open(name)
}

// like holds a check against a state and words that must occur in what it found
// and in its cure, and against the rule that what is not well has a cure.
func like(t *testing.T, got Check, state State, found, cure string) {
	t.Helper()
	if got.State != state || !strings.Contains(got.Found, found) || !strings.Contains(got.Cure, cure) {
		t.Errorf("got %+v\nwant %s, found …%s…, cure …%s…", got, state, found, cure)
	}
	if got.Found == "" || (got.State == Warn || got.State == Fail) && got.Cure == "" || got.State == OK && got.Cure != "" {
		t.Errorf("incomplete: %+v", got)
	}
}

// Every check comes to something on the machine that runs the tests.
func TestThisHost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	engine := func(context.Context) (Engine, error) { return Engine{Root: dir, Skew: time.Millisecond}, nil }
	host := ThisHost(Folders{Database: dir, Cache: dir + "/not/yet", Temporary: dir}, time.Time{}, engine)
	probes := host.Probes()
	checks := Run(t.Context(), probes, 0)
	var names, want []string
	for i, c := range checks {
		names, want = append(names, c.Name), append(want, probes[i].Name)
		if len(c.Name) > 17 {
			t.Errorf("the name %q is too long for its column", c.Name)
		}
		if c.Found == "" || c.State == "" || (c.State == Warn || c.State == Fail) && c.Cure == "" {
			t.Errorf("incomplete: %+v", c)
		}
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	by := map[string]Check{}
	for _, c := range checks {
		by[c.Name] = c
	}
	if len(by) != len(probes) {
		t.Errorf("%d names for %d checks", len(by), len(probes))
	}
	like(t, by["cpu load"], OK, "/proc/stat", "")
	like(t, by["memory"], OK, "available", "")
	like(t, by["engine clock"], OK, "within 1ms", "")
	if found := by["cache disk"].Found; !strings.Contains(found, dir+"/not/yet (to be made in "+dir+")") {
		t.Errorf("%q", found)
	}
}

func TestWithoutAnEngine(t *testing.T) {
	t.Parallel()
	for name, engine := range map[string]func(context.Context) (Engine, error){
		"none is in use": nil,
		"none answers":   func(context.Context) (Engine, error) { return Engine{}, errors.New("no") },
	} {
		h := Host{Engine: engine}
		for _, c := range []Check{h.engineClock(t.Context()), h.engineDisk(t.Context())} {
			if c.State != NA || c.Found == "" {
				t.Errorf("%s: %+v", name, c)
			}
		}
	}
}
