package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"assay/internal/sandbox"
	"assay/internal/sandbox/boxtest"
	"assay/internal/sandbox/docker/image"
	"assay/internal/sandbox/rootfs"

	"github.com/moby/moby/client"
)

// ours is the factory of this test process, made at its first use.
var ours = sync.OnceValues(func() (*Factory, error) { return newFactory(context.Background()) })

func newFactory(ctx context.Context) (*Factory, error) {
	e, err := Connect(ctx)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	im, err := image.Ensure(ctx, e.Client(), image.Options{Program: program, CacheDir: rootfs.DefaultCache(os.Getenv)}, func(line string) {
		fmt.Fprintln(os.Stderr, line)
	})
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return New(e, im)
}

func open(ctx context.Context, o sandbox.Options) (sandbox.Box, error) {
	f, err := ours()
	if err != nil {
		return nil, err
	}
	return f.Open(ctx, o)
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == ReaperArg {
		os.Exit(Reap(os.Args[2:], os.Stdin))
	}
	if os.Getenv(livesEnv) != "" {
		os.Exit(lives())
	}
	code := boxtest.Main(m, open)
	if code == 0 && leftBehind() {
		code = 1
	}
	os.Exit(code)
}

// leftBehind closes the factory and looks for boxes of this process.
func leftBehind() bool {
	f, err := ours()
	if err != nil {
		return false // there was none
	}
	ctx := context.Background()
	left, err := list(ctx, f.engine.cli, labelOwner, f.owner.token)
	if err != nil || len(left) > 0 {
		fmt.Fprintf(os.Stderr, "%d boxes are left at the end of the tests (%v)\n", len(left), err)
		return true
	}
	_, rerr := f.engine.cli.ImageRemove(ctx, f.image.ID, client.ImageRemoveOptions{Force: true})
	if err := errors.Join(rerr, f.Close()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return true
	}
	return false
}

func TestConformance(t *testing.T) {
	k := boxtest.Kind{Open: open}
	if os.Getenv("ASSAY_FULL") == "" {
		k.Only = []string{"time", "process", "quota", "identity", "supervisor", "network", "leftover", "export", "life"}
		t.Log("the groups that an engine decides: set ASSAY_FULL=1, or run make test-full, for the whole suite")
	}
	k.Run(t)
}
