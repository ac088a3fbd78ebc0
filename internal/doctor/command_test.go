package doctor

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestCommand(t *testing.T) {
	t.Parallel()
	out, err := Command(t.Context(), "sh", "-c", "echo one; echo two >&2")
	if err != nil || string(out) != "one\ntwo\n" {
		t.Errorf("%q %v", out, err)
	}
	out, err = Command(t.Context(), "sh", "-c", "echo why; exit 3")
	var exit *exec.ExitError
	if string(out) != "why\n" || !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("%q %v", out, err)
	}
	if _, err := Command(t.Context(), "no-such-program-of-ours"); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("%v", err)
	}
	out, err = Command(t.Context(), "sh", "-c", "yes | head -c 1000000")
	if err != nil || len(out) != mostOutput || strings.Trim(string(out), "y\n") != "" {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

// What a program has started dies with it, though it keeps the output open.
func TestCommandEndsWithItsContext(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := Command(ctx, "sh", "-c", `sleep 1000 & echo $! >"$1.part"; mv "$1.part" "$1"; wait`, "sh", pidFile)
		done <- err
	}()
	pid := 0
	eventually(t, "the program started its child", func() bool {
		text, err := os.ReadFile(pidFile)
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it did not end")
	}
	eventually(t, "the child is dead", func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ") || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	})
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in 20 s: %s", what)
		}
	}
}
