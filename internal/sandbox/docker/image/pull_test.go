package image

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assay/internal/sandbox"

	"github.com/moby/moby/api/types/container"
)

func containerOf(id string) *container.Config {
	return &container.Config{Image: id, Entrypoint: []string{Program}}
}

func TestPullNamesADigest(t *testing.T) {
	t.Parallel()
	hex := strings.Repeat("0f", 32)
	for _, ref := range []string{"r/x@sha256:" + hex, "127.0.0.1:5000/x@sha256:" + hex, "x@sha256:" + hex} {
		if err := checkPull(ref); err != nil {
			t.Error(err)
		}
	}
	var u *sandbox.UnavailableError
	for _, ref := range []string{"x", "x:latest", "x:1@sha256:" + hex, "x@sha256:" + hex[1:], "@sha256:" + hex, "x@md5:" + hex, "x y@sha256:" + hex, "x@sha256:" + strings.ToUpper(hex)} {
		if err := checkPull(ref); !errors.As(err, &u) {
			t.Errorf("%q: %v", ref, err)
		}
	}
}

// base is a published base: an image of ours without a supervisor.
func base(t *testing.T, w *world) draft {
	t.Helper()
	l, err := baseLayer(t.Context(), *w.tree, w.o.CacheDir)
	if err != nil {
		t.Fatal(err)
	}
	lb := goodLabel()
	lb.Base, lb.Supervisor, lb.SupervisorLayer = []string{l.diffID}, "", ""
	return draft{names: w.names, label: lb, architecture: "amd64", layers: []layer{l}}
}

func TestEnginePulls(t *testing.T) {
	t.Parallel()
	w, c := engineWorld(t)
	g, ref := publish(t, base(t, w))
	w.o.Pull, w.tree, w.recipe = ref, nil, &sandbox.UnavailableError{Problem: "another system", Cure: "none"}
	first, err := w.ensure(t)
	if err != nil {
		t.Fatal(err)
	}
	if first.Origin != Pulled || first.From != ref || len(first.Layers) != 2 || first.Recipe != "r" {
		t.Errorf("%+v", first)
	}
	box, err := c.ImageInspect(t.Context(), first.ID)
	if err != nil || len(box.RootFS.Layers) != 2 {
		t.Errorf("%v %v", box.RootFS, err)
	}
	asked := len(g.asked)
	if again, err := w.ensure(t); err != nil || again.ID != first.ID || again.Origin != Local {
		t.Errorf("%+v %v", again, err)
	}
	w.o.Program = elfFile(t, amd64, "", "another")
	if other, err := w.ensure(t); err != nil || other.Environment() != first.Environment() || other.Origin != Pulled {
		t.Errorf("%+v %v", other, err)
	}
	if len(g.asked) != asked {
		t.Errorf("what is there was pulled again: %v", g.asked[asked:])
	}
}

// A whole image was published; this assay's supervisor takes the other's place.
func TestEnginePullsAWholeImage(t *testing.T) {
	t.Parallel()
	w, _ := engineWorld(t)
	d := base(t, w)
	p, err := readProgram(elfFile(t, amd64, "", "published"))
	if err != nil {
		t.Fatal(err)
	}
	top, err := supervisorLayer(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	d.layers = append(d.layers, top)
	d.label.Supervisor, d.label.SupervisorLayer = p.digest, top.diffID
	_, w.o.Pull = publish(t, d)
	w.tree = nil
	im, err := w.ensure(t)
	if err != nil || len(im.Layers) != 2 || im.Layers[0] != d.layers[0].diffID || im.Layers[1] == top.diffID {
		t.Errorf("%+v %v", im, err)
	}
}

func TestEngineRefusesPulledImages(t *testing.T) {
	t.Parallel()
	w, _ := engineWorld(t)
	for name, c := range map[string]struct {
		harm func(*draft)
		says string
	}{
		"no label":     {func(d *draft) { d.names.label = "other" }, "nobody knows what it was made of"},
		"other layers": {func(d *draft) { d.label.Root = "x" }, "leaves out"},
		"architecture": {func(d *draft) { d.architecture = "arm64" }, "arm64"},
	} {
		d := base(t, w)
		c.harm(&d)
		_, w.o.Pull = publish(t, d)
		tree := w.tree
		w.tree = nil
		_, err := w.ensure(t)
		w.tree = tree
		var u *sandbox.UnavailableError
		if !errors.As(err, &u) || !strings.Contains(u.Problem, c.says) || u.Cure == "" {
			t.Errorf("%s: %v", name, err)
		}
		forget(t, w.o.Pull)
	}
}

// forget removes a pulled image that has no label of ours.
func forget(t *testing.T, ref string) {
	t.Helper()
	c, err := connect()
	if err != nil {
		t.Fatal(err)
	}
	m := &maker{engine: c}
	if _, err := m.remove(t.Context(), held{image: Image{ID: ref}, refs: []string{ref}}); err != nil {
		t.Error(err)
	}
}

func TestEngineToldOfBrokenRegistries(t *testing.T) {
	t.Parallel()
	is := func(part string, do http.HandlerFunc) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, part) {
				return false
			}
			do(w, r)
			return true
		}
	}
	for name, c := range map[string]struct {
		harm func(http.ResponseWriter, *http.Request) bool
		says string
	}{
		"404": {is("/manifests/", http.NotFound), "pull "},
		"500": {is("/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }), "pull "},
		"wrong digest": {is("/manifests/", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", manifestType)
			_, _ = io.WriteString(w, `{"schemaVersion":2,"mediaType":"`+manifestType+`"}`)
		}), "verification failed"},
		"cut blob": {is("/blobs/", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100000")
			_, _ = io.WriteString(w, "cut")
			panic(http.ErrAbortHandler)
		}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := engineWorld(t)
			g, ref := publish(t, base(t, w))
			g.harm = c.harm
			w.tree, w.o.Pull, w.o.PullTimeout = nil, ref, 8*time.Second
			_, err := w.ensure(t)
			var u *sandbox.UnavailableError
			if !errors.As(err, &u) || !strings.Contains(u.Problem, ref) || !strings.Contains(u.Problem, c.says) || !strings.Contains(u.Cure, "unset ASSAY_IMAGE") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestEngineWaitsForNoHangingRegistry(t *testing.T) {
	t.Parallel()
	w, _ := engineWorld(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // it takes connections and never answers
	w.tree, w.o.PullTimeout = nil, 1500*time.Millisecond
	w.o.Pull = l.Addr().String() + "/boxes@sha256:" + strings.Repeat("0f", 32)
	start := time.Now()
	_, err = w.ensure(t)
	var u *sandbox.UnavailableError
	if !errors.As(err, &u) || !strings.Contains(u.Problem, l.Addr().String()) || !strings.Contains(u.Problem, "1.5s") {
		t.Errorf("%v", err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestPullTellsOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeEngine()
		w := newWorld(t, f)
		w.o.Pull = "r.example/x@sha256:" + strings.Repeat("0f", 32)
		f.pull = func(ctx context.Context, _ string) (io.ReadCloser, error) {
			r, p := io.Pipe()
			go func() {
				for range 50 {
					if _, err := io.WriteString(p, `{"id":"a","status":"Downloading","progressDetail":{"current":1048576,"total":4194304}}{"id":"b","status":"Pull complete"}`); err != nil {
						return
					}
					time.Sleep(100 * time.Millisecond)
				}
				_, _ = io.WriteString(p, `{"errorDetail":{"message":"no space left on device"}}`)
				_ = p.Close()
			}()
			return r, nil
		}
		m, err := w.maker(t)
		if err != nil {
			t.Fatal(err)
		}
		var u *sandbox.UnavailableError
		if err := m.pull(t.Context()); !errors.As(err, &u) || !strings.Contains(u.Cure, "docker system df") {
			t.Errorf("%v", err)
		}
		if len(w.said) < 4 || len(w.said) > 6 || !strings.HasSuffix(w.said[1], ": 1 of 2 layers done, 1 of 4 MB in hand") {
			t.Errorf("%q", w.said)
		}
	})
}
