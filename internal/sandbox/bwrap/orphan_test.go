package bwrap

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"assay/internal/sandbox"
	"assay/internal/sandbox/boxtest"
)

// openerEnv makes a test binary open boxes of that many bytes, one after the
// other, until it is killed.
const openerEnv = "ASSAY_BWRAP_OPENER"

func opener(size string) int {
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		return 2
	}
	for i := 0; ; i++ {
		if i == 1 { // the first box took longer: the root was looked at
			fmt.Println("opening")
		}
		b, err := open(context.Background(), sandbox.Options{DiskBytes: n})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		_ = b.Close()
	}
}

// Whenever a runner is killed while a box starts, nothing of the box is left.
func TestRunnerDiesWhileABoxStarts(t *testing.T) {
	probe, err := open(t.Context(), sandbox.Options{})
	boxtest.Skip(t, err)
	_ = probe.Close()
	rounds, enough := 40, time.Now().Add(10*time.Second)
	if os.Getenv("ASSAY_FULL") != "" {
		rounds, enough = 300, time.Now().Add(time.Hour)
	}
	random := rand.New(rand.NewPCG(1, 2))
	size := strconv.Itoa(64<<20 + 4096*(os.Getpid()%4096)) // marks our boxes among others
	kills := 0
	// A busy machine gets fewer rounds, but some.
	for ; kills < rounds && (kills < 8 || time.Now().Before(enough)); kills++ {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), openerEnv+"="+size)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, _ := bufio.NewReader(out).ReadString('\n'); line != "opening\n" {
			t.Fatalf("the opener said %q", line)
		}
		time.Sleep(time.Duration(random.IntN(9000)) * time.Microsecond) // somewhere in a box's life
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
	}
	deadline := time.Now().Add(3 * time.Second)
	for {
		left := sized(t, size)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left after %d kills: %v", kills, left)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// sized lists processes with the size among their arguments.
func sized(t *testing.T, size string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte("\x00"+size+"\x00")) {
			found = append(found, filepath.Dir(f))
		}
	}
	return found
}
