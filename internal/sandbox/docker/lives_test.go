package docker

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"
	"assay/internal/sandbox/boxtest"
)

// livesEnv makes the test binary a runner that takes boxes through their whole
// life, one after the other, and says where they are.
const livesEnv = "ASSAY_DOCKER_LIVES"

// phases of a box's life, as the runner sees them.
var phases = []string{"created", "attached", "started", "running", "exporting", "closing"}

func lives() int {
	ctx := context.Background()
	f, err := newFactory(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	f.phase = func(p string) { fmt.Println(p) }
	tree := bench.Tree{}
	for i := range 200 {
		tree = append(tree, bench.File{Path: fmt.Sprintf("d%d/f%d", i%7, i), Data: make([]byte, 30_000)})
	}
	for {
		if err := life(ctx, f, tree); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
}

func life(ctx context.Context, f *Factory, tree bench.Tree) error {
	b, err := f.Open(ctx, sandbox.Options{Purpose: sandbox.PurposeAgent})
	if err != nil {
		return err
	}
	f.phase("running")
	if err := b.Put(ctx, tree); err != nil {
		return err
	}
	if _, err := b.Start(ctx, boxtest.Shell("setsid sh -c 'while :; do :; done' & while :; do :; done")); err != nil {
		return err
	}
	if _, err := b.Run(ctx, boxtest.Shell("sleep 0.02")); err != nil {
		return err
	}
	f.phase("exporting")
	if _, err := b.Export(ctx, bench.DefaultExportLimits()); err != nil {
		return err
	}
	f.phase("closing")
	return b.Close()
}

// A runner is killed at thirty random points of the life of its boxes, in every
// phase of it; two seconds later none of its boxes is left.
func TestRunnerDiesAnywhere(t *testing.T) {
	if os.Getenv("ASSAY_FULL") == "" {
		t.Skip("thirty kills: set ASSAY_FULL=1, or run make test-full")
	}
	f, err := ours()
	boxtest.Skip(t, err)
	random := rand.New(rand.NewPCG(uint64(os.Getpid()), 7))
	hit := map[string]int{}
	var gone []time.Duration
	for kill := 0; kill < 30 || len(hit) < len(phases); kill++ {
		if kill == 150 {
			t.Fatalf("150 kills hit only %v", hit)
		}
		aim := phases[kill%len(phases)]
		phase, took := killAt(t, f, aim, random)
		hit[phase]++
		gone = append(gone, took)
	}
	slices.Sort(gone)
	t.Logf("%d kills by phase %v; containers gone after p50 %s, p95 %s, at most %s", len(gone), hit,
		gone[len(gone)/2].Round(time.Millisecond), gone[len(gone)*95/100].Round(time.Millisecond), gone[len(gone)-1].Round(time.Millisecond))
}

// killAt kills a runner shortly after it has entered a phase. It returns the
// phase in which the runner died and how long its last box outlived it.
func killAt(t *testing.T, f *Factory, aim string, random *rand.Rand) (string, time.Duration) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), livesEnv+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	phase := ""
	for passes := 1 + random.IntN(2); passes > 0; {
		if !lines.Scan() {
			t.Fatalf("the runner ended in phase %q: %v", phase, cmd.Wait())
		}
		if phase = lines.Text(); phase == aim {
			passes--
		}
	}
	time.Sleep(time.Duration(random.IntN(3)) * time.Duration(random.IntN(2000)) * time.Microsecond)
	killed := time.Now()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // what it said before it died
		phase = lines.Text()
	}
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	return phase, outlives(t, f, cmd.Process.Pid, killed)
}

// outlives waits until no box of a dead runner is left, and says how long the
// last one was seen.
func outlives(t *testing.T, f *Factory, pid int, killed time.Time) time.Duration {
	t.Helper()
	seen := killed
	for time.Since(seen) < quiet {
		left, err := list(t.Context(), f.engine.cli, labelPID, strconv.Itoa(pid))
		if err != nil {
			t.Fatal(err)
		}
		if len(left) > 0 {
			seen = time.Now()
		}
		if seen.Sub(killed) > 2*time.Second {
			var states []string
			for _, c := range left {
				states = append(states, string(c.State))
			}
			t.Fatalf("%s after the kill %d boxes are left (%s)", seen.Sub(killed), len(left), strings.Join(states, ", "))
		}
		time.Sleep(5 * time.Millisecond)
	}
	return seen.Sub(killed)
}

// quiet is how long the engine may still be making what was asked for before the
// kill.
const quiet = 300 * time.Millisecond
