package image

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/sandbox/rootfs"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
)

func zeroTime() time.Time { return time.Time{} }

func TestMain(m *testing.M) {
	_ = os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
	log.SetDefault(log.NewNoopLogger())
	os.Exit(m.Run())
}

var connect = sync.OnceValues(func() (*client.Client, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return nil, err
	}
	return c.Client, nil
})

// engineWorld is a world on the machine's engine. Its images have names of their
// own, so that nobody takes them for real ones, and are removed in the end.
func engineWorld(t *testing.T) (*world, *client.Client) {
	t.Helper()
	c, err := connect()
	if err != nil {
		t.Skipf("no docker engine answers (%v); install docker.io and start it, or set DOCKER_HOST", err)
	}
	w := newWorld(t, c)
	id := make([]byte, 6)
	_, _ = rand.Read(id)
	w.names = names{"io.assay.image-test-" + hex.EncodeToString(id), "assay-box-test"}
	t.Cleanup(func() {
		m := &maker{engine: c, names: w.names}
		if _, err := m.prune(context.Background(), Image{}); err != nil {
			t.Errorf("remove the images of this test: %v", err)
		}
		if left, err := m.images(context.Background()); err != nil || len(left) > 0 {
			t.Errorf("images left: %v %v", left, err)
		}
	})
	return w, c
}

func TestEngineLoadsWhatWasPredicted(t *testing.T) {
	t.Parallel()
	w, c := engineWorld(t)
	first, err := w.ensure(t)
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.Info(t.Context(), client.InfoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	containerd := false
	for _, s := range v.Info.DriverStatus {
		containerd = containerd || strings.Contains(s[1], "containerd.snapshotter")
	}
	if !containerd && first.ID[len("sha256:"):][:12] != strings.TrimPrefix(first.Ref, "assay-box-test:") {
		t.Errorf("%s is called %s", first.Ref, first.ID)
	}
	m, err := w.maker(t)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := m.built(t.Context(), w.tree, nil, wanted{}); err != nil || again.ID != first.ID {
		t.Errorf("the second load gives %s, the first %s (%v)", again.ID, first.ID, err)
	}
	if again, err := w.ensure(t); err != nil || again.ID != first.ID || again.Origin != Local {
		t.Errorf("%+v %v", again, err)
	}
	w.o.Program, w.tree = elfFile(t, amd64, "", "another"), nil
	if other, err := w.ensure(t); err != nil || other.Environment() != first.Environment() || other.ID == first.ID {
		t.Errorf("%+v %v", other, err)
	}
}

// TestEngineReadsBack rewrites an image that the engine hands over.
func TestEngineReadsBack(t *testing.T) {
	t.Parallel()
	w, _ := engineWorld(t)
	if _, err := w.ensure(t); err != nil {
		t.Fatal(err)
	}
	m, err := w.maker(t)
	if err != nil {
		t.Fatal(err)
	}
	all, err := m.images(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	s, err := m.save(t.Context(), all[0])
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	d := draft{names: m.names, label: all[0].label, architecture: "amd64", layers: s.layers}
	if _, err := m.prune(t.Context(), Image{}); err != nil {
		t.Fatal(err)
	}
	if im, err := m.load(t.Context(), d, Built); err != nil || im.ID != all[0].image.ID {
		t.Errorf("%+v %v", im, err)
	}
}

func TestEngineSparesImagesInUse(t *testing.T) {
	t.Parallel()
	w, c := engineWorld(t)
	im, err := w.ensure(t)
	if err != nil {
		t.Fatal(err)
	}
	box, err := c.ContainerCreate(t.Context(), client.ContainerCreateOptions{Config: containerOf(im.ID)})
	if err != nil {
		t.Fatal(err)
	}
	m, err := w.maker(t)
	if err != nil {
		t.Fatal(err)
	}
	removed, err := m.prune(t.Context(), Image{})
	if err != nil || len(removed) > 0 {
		t.Errorf("%v %v", removed, err)
	}
	if _, err := c.ContainerRemove(t.Context(), box.ID, client.ContainerRemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	if removed, err := m.prune(t.Context(), Image{}); err != nil || len(removed) != 1 {
		t.Errorf("%v %v", removed, err)
	}
}

// TestRealTree makes an image of the machine's real tree and runs it.
func TestRealTree(t *testing.T) {
	t.Parallel()
	w, _ := engineWorld(t)
	tree, ok, err := rootfs.Find(rootfs.DefaultCache(os.Getenv))
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		t.Skip("there is no root tree of boxes on this machine; make one with: assay image build (as root)")
	}
	w.tree = &tree
	source := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(source, []byte("package main\nimport \"os\"\nfunc main() { println(os.Getuid()) }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.o.Program = filepath.Join(t.TempDir(), "program")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", w.o.Program, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	start := time.Now()
	im, err := w.ensure(t)
	if err != nil {
		t.Fatal(err)
	}
	cold := time.Since(start)
	start = time.Now()
	if _, err := w.ensure(t); err != nil {
		t.Fatal(err)
	}
	found := time.Since(start)
	w.o.Program = elfFile(t, amd64, "", "another")
	start = time.Now()
	if _, err := w.ensure(t); err != nil {
		t.Fatal(err)
	}
	t.Logf("loaded in %v, found in %v, another supervisor in %v, %d MB", cold, found, time.Since(start), im.Size>>20)
	run := func(program string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), "docker", append([]string{"run", "--rm", "--network=none", "--read-only", "--user=58001:58001", "--entrypoint=" + program, im.ID}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v", program, err)
		}
		return strings.TrimSpace(string(out))
	}
	if _, err := exec.LookPath("docker"); err != nil {
		t.Skip("the docker command is not installed, so nothing was run; install docker-cli")
	}
	if got := run(Program); got != "58001" {
		t.Errorf("the supervisor says %q", got)
	}
	const script = "import os, pwd, grp, platform, sqlite3, unittest, asyncio; p = pwd.getpwuid(os.getuid()); " +
		"print(platform.python_version(), p.pw_name, p.pw_dir, grp.getgrgid(os.getgid()).gr_name, sorted(set(os.stat(d).st_uid for d in os.listdir('/'))), os.path.isdir('/w'), oct(os.stat('/tmp').st_mode))"
	if got, want := run("/usr/bin/python3", "-I", "-c", script), tree.Python+" box /w box [0] True 0o41777"; got != want {
		t.Errorf("python says %q, want %q", got, want)
	}
}
