package image

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"assay/internal/sandbox"
	"assay/internal/sandbox/rootfs"

	"github.com/google/go-cmp/cmp"
)

func TestBuildThenFind(t *testing.T) {
	t.Parallel()
	for _, containerd := range []bool{false, true} {
		f := newFakeEngine()
		f.containerd = containerd
		w := newWorld(t, f)
		first, err := w.ensure(t)
		if err != nil {
			t.Fatal(err)
		}
		if first.Origin != Built || len(first.Layers) != 2 || first.Python != "3.11.2" || first.Architecture != "amd64" || !strings.HasPrefix(first.Ref, "assay-box-test:") {
			t.Errorf("%+v", first)
		}
		again, err := w.ensure(t)
		if err != nil {
			t.Fatal(err)
		}
		want := first
		want.Origin = Local
		if diff := cmp.Diff(want, again); diff != "" || f.loads != 1 {
			t.Errorf("%d loads (-want +got)\n%s", f.loads, diff)
		}
	}
}

func TestOtherSupervisorSendsNoBase(t *testing.T) {
	t.Parallel()
	for _, containerd := range []bool{false, true} {
		f := newFakeEngine()
		f.containerd = containerd
		w := newWorld(t, f)
		first, err := w.ensure(t)
		if err != nil {
			t.Fatal(err)
		}
		whole := f.received
		w.o.Program = elfFile(t, amd64, "", "another")
		second, err := w.ensure(t)
		if err != nil {
			t.Fatal(err)
		}
		if second.ID == first.ID || second.Layers[0] != first.Layers[0] || second.Layers[1] == first.Layers[1] {
			t.Errorf("%+v\n%+v", first, second)
		}
		if partly := f.received < whole/2; partly == containerd {
			t.Errorf("containerd %v: %d bytes of %d", containerd, f.received, whole)
		}
		if diff := cmp.Diff(first.Environment(), second.Environment()); diff != "" {
			t.Errorf("another supervisor makes another environment:\n%s", diff)
		}
	}
}

func TestBaseInTheEngineServesWithoutATree(t *testing.T) {
	t.Parallel()
	for _, containerd := range []bool{false, true} {
		f := newFakeEngine()
		f.containerd = containerd
		w := newWorld(t, f)
		first, err := w.ensure(t)
		if err != nil {
			t.Fatal(err)
		}
		w.tree, w.o.Program = nil, elfFile(t, amd64, "", "another")
		second, err := w.ensure(t)
		if err != nil {
			t.Fatal(err)
		}
		if second.Origin != Built || first.Environment() != second.Environment() || second.Supervisor == first.Supervisor {
			t.Errorf("%+v\n%+v", first, second)
		}
		left, err := filepath.Glob(filepath.Join(w.o.CacheDir, ".image-*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	}
}

func TestAnotherTreeMakesAnotherImage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newFakeEngine())
	first, err := w.ensure(t)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.tree.Path, "usr/bin/tool"), []byte("newer"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.tree.Digest = strings.Repeat("cd", 32)
	second, err := w.ensure(t)
	if err != nil || second.Origin != Built || second.Layers[0] == first.Layers[0] {
		t.Errorf("%+v %v", second, err)
	}
}

func TestNothingToMakeItFrom(t *testing.T) {
	t.Parallel()
	f := newFakeEngine()
	w := newWorld(t, f)
	w.tree = nil
	w.build = func(context.Context) (rootfs.Root, error) {
		return rootfs.Root{}, &sandbox.UnavailableError{Problem: "only root can build it", Cure: "run this as root"}
	}
	_, err := w.ensure(t)
	var u *sandbox.UnavailableError
	if !errors.As(err, &u) || !strings.Contains(u.Problem, "only root") || !strings.Contains(u.Cure, "run this as root") || !strings.Contains(u.Cure, "docker load") {
		t.Errorf("%v", err)
	}
	m, err := w.maker(t)
	if err != nil {
		t.Fatal(err)
	}
	all, err := m.images(t.Context())
	if _, ok := m.find(all, wanted{}); ok || err != nil || f.loads != 0 {
		t.Errorf("found %v, loads %d, %v", ok, f.loads, err)
	}
}

func TestOnlyOneOfTwoBuilds(t *testing.T) {
	t.Parallel()
	f := newFakeEngine()
	w := newWorld(t, f)
	tree := *w.tree
	w.tree = nil
	var builds int
	w.build = func(context.Context) (rootfs.Root, error) { builds++; return tree, nil }
	var all sync.WaitGroup
	for range 4 {
		m, err := w.maker(t)
		if err != nil {
			t.Fatal(err)
		}
		m.say = func(string) {}
		all.Go(func() {
			if _, err := m.ensure(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if builds != 1 || f.loads != 1 {
		t.Errorf("%d builds, %d loads", builds, f.loads)
	}
}

func TestForeignLabelsAreIgnored(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(*fakeImage){
		"no label":       func(i *fakeImage) { i.Config.Labels = nil },
		"broken label":   func(i *fakeImage) { i.Config.Labels["io.assay.image-test"] = "{" },
		"other layers":   func(i *fakeImage) { i.RootFS.Layers = []string{i.RootFS.Layers[0], i.RootFS.Layers[0]} },
		"fewer layers":   func(i *fakeImage) { i.RootFS.Layers = i.RootFS.Layers[:1] },
		"other system":   func(i *fakeImage) { i.Os = "windows" },
		"other platform": func(i *fakeImage) { i.Architecture = "arm64" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeEngine()
			w := newWorld(t, f)
			if _, err := w.ensure(t); err != nil {
				t.Fatal(err)
			}
			for _, im := range f.images {
				harm(im)
			}
			if im, err := w.ensure(t); err != nil || im.Origin != Built {
				t.Errorf("%+v %v", im, err)
			}
		})
	}
}

func TestEngineFaults(t *testing.T) {
	t.Parallel()
	f := newFakeEngine()
	w := newWorld(t, f)
	f.loadFault = "write /var/lib/docker/x: no space left on device"
	var u *sandbox.UnavailableError
	if _, err := w.ensure(t); !errors.As(err, &u) || !strings.Contains(u.Cure, "docker system df") {
		t.Errorf("%v", err)
	}
	f.loadFault = "something else"
	if _, err := w.ensure(t); err == nil || errors.As(err, new(*sandbox.UnavailableError)) || !strings.Contains(err.Error(), "something else") {
		t.Errorf("%v", err)
	}
	f.loadFault = ""
	if _, err := w.ensure(t); err != nil {
		t.Errorf("a failed load is in the way of the next: %v", err)
	}
}

func TestTreeThatChangesIsNotLoaded(t *testing.T) {
	t.Parallel()
	f := newFakeEngine()
	w := newWorld(t, f)
	if _, err := baseLayer(t.Context(), *w.tree, w.o.CacheDir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.tree.Path, "usr/bin/tool"), []byte("#!/bin/SH\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ensure(t); err == nil || !strings.Contains(err.Error(), "changed while it was read") || len(f.images) > 0 {
		t.Errorf("%v, images %v", err, f.images)
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	f := newFakeEngine()
	w := newWorld(t, f)
	var made []Image
	for _, tail := range []string{"a", "b", "c"} {
		w.o.Program = elfFile(t, amd64, "", tail)
		im, err := w.ensure(t)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, im)
	}
	f.used[made[1].ID] = true
	f.images[made[0].ID].RepoTags = append(f.images[made[0].ID].RepoTags, "mine:1")
	m, err := w.maker(t)
	if err != nil {
		t.Fatal(err)
	}
	removed, err := m.prune(t.Context(), made[2])
	if err != nil || len(removed) != 1 || removed[0].ID != made[0].ID || len(f.images) != 2 {
		t.Errorf("%+v %v", removed, err)
	}
}
