package boxtest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"assay/internal/sandbox"
)

// runnerEnv makes a test binary the runner that a test will kill.
const runnerEnv = "ASSAY_BOXTEST_RUNNER"

// runner opens a box full of processes that would run for ever, says so, and
// waits for its death.
func runner(open Open, mark string) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b, err := open(ctx, sandbox.Options{})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	p, err := b.Start(ctx, python(`
import os, sys, time
for i in range(8):
    if os.fork() == 0:
        os.setsid()
        while True: pass
print("spinning", flush=True)
time.sleep(1000)
`, mark))
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	line := make([]byte, 9)
	if _, err := p.Stdout().Read(line); err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println("ready")
	<-ctx.Done()
	return 1
}

// runnerDies kills a process that holds a busy box and looks for what is left
// of the box.
func (s suite) runnerDies(t *testing.T) {
	mark := "assay-boxtest-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), runnerEnv+"="+mark)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line != "ready\n" {
		t.Fatalf("runner said %q", line)
	}
	if left := s.Left(t, cmd.Process.Pid, mark); len(left) == 0 {
		t.Error("nothing is seen of the box while it runs")
	}
	killed := time.Now()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for {
		left := s.Left(t, cmd.Process.Pid, mark)
		if len(left) == 0 {
			break
		}
		if time.Since(killed) > 2*time.Second {
			t.Fatalf("left 2 s after the runner was killed: %v", left)
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Logf("box gone %s after the kill", time.Since(killed).Round(time.Millisecond))
}

// marked lists running processes that have the mark among their arguments;
// those that ended and were not collected have none.
func marked(t *testing.T, _ int, mark string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(mark)) {
			found = append(found, filepath.Dir(f))
		}
	}
	return found
}
