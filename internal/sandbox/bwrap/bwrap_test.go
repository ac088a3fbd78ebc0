package bwrap

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"assay/internal/bench"
	"assay/internal/sandbox"
	"assay/internal/sandbox/boxtest"
	running "assay/internal/sandbox/program"
	"assay/internal/sandbox/rootfs"
	"assay/internal/sandbox/supervisor"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

var factory = sync.OnceValues(func() (*Factory, error) {
	root, err := rootfs.Ensure(context.Background(), rootfs.DefaultCache(os.Getenv), func(string) {})
	if err != nil {
		return nil, err
	}
	return New(root)
})

func open(ctx context.Context, o sandbox.Options) (sandbox.Box, error) {
	f, err := factory()
	if err != nil {
		return nil, err
	}
	return f.Open(ctx, o)
}

func TestMain(m *testing.M) {
	if size := os.Getenv(openerEnv); size != "" && (len(os.Args) < 2 || os.Args[1] != supervisor.Arg) {
		os.Exit(opener(size))
	}
	os.Exit(boxtest.Main(m, open))
}

func TestDeclares(t *testing.T) {
	b, err := open(t.Context(), sandbox.Options{})
	boxtest.Skip(t, err)
	defer b.Close()
	want := bench.Enforces{Processes: true, Disk: true, Network: true}
	if diff := cmp.Diff(want, b.Environment().Enforces); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A program that the box's uid may not execute is run from memory.
func TestProgramInMemory(t *testing.T) {
	f, err := factory()
	boxtest.Skip(t, err)
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	m, err := running.InMemory(self)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	copied := &Factory{root: f.root, bwrap: f.bwrap, program: m, filter: f.filter, asRoot: f.asRoot}
	b, err := copied.Open(t.Context(), sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	r, err := b.Run(t.Context(), boxtest.Shell("echo ran"))
	if err != nil || string(r.Stdout) != "ran\n" {
		t.Errorf("%+v %q %v", r.Exit, r.Stdout, err)
	}
}

// A supervisor that does not end when its stream does is killed.
func TestCloseOfAHungBox(t *testing.T) {
	f, err := factory()
	boxtest.Skip(t, err)
	o, err := sandbox.Options{}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.launch(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	pid := c.child()
	if pid == 0 {
		t.Fatal("bwrap did not say which process it made")
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the supervisor is still there: %v", err)
	}
}

func TestNothingLeaks(t *testing.T) {
	f, err := factory()
	boxtest.Skip(t, err)
	current := goleak.IgnoreCurrent()
	before := descriptors(t)
	for range 5 {
		b, err := f.Open(t.Context(), sandbox.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Start(t.Context(), boxtest.Shell("cat")); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Run(t.Context(), boxtest.Shell("yes | head -c 1000000")); err != nil {
			t.Fatal(err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	goleak.VerifyNone(t, current)
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// A machine on which bwrap fails says why.
func TestBwrapFails(t *testing.T) {
	f, err := factory()
	boxtest.Skip(t, err)
	broken := &Factory{root: rootfs.Root{Path: "/no/such/root"}, bwrap: f.bwrap, program: f.program, filter: f.filter, asRoot: f.asRoot}
	if b, err := broken.Open(t.Context(), sandbox.Options{}); !errors.Is(err, bench.ErrBoxLost) || !strings.Contains(err.Error(), "/no/such/root") {
		t.Errorf("%v %v", b, err)
	}
}

func TestUnreachableRoot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shut")
	if err := os.MkdirAll(filepath.Join(dir, "root"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var u *sandbox.UnavailableError
	if err := reachable(filepath.Join(dir, "root")); !errors.As(err, &u) || u.Cure == "" {
		t.Errorf("got %v", err)
	}
	if err := reachable(filepath.Join(dir, "absent")); !errors.As(err, &u) {
		t.Errorf("got %v", err)
	}
	if err := reachable("/usr/bin"); err != nil {
		t.Error(err)
	}
}
