package doctor

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	mostOutput = 64 << 10 // bytes of a program's output that are kept
	pipeWait   = 200 * time.Millisecond
)

// Command runs a program without input and returns what it wrote to stdout and
// stderr. When ctx ends, the program and all that it started are killed. An
// error wraps exec.ErrNotFound where there is no such program.
func Command(ctx context.Context, name string, args ...string) ([]byte, error) {
	var out bounded
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = pipeWait
	err := cmd.Run()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return out.kept, fmt.Errorf("run %s: %w", strings.Join(append([]string{name}, args...), " "), err)
	}
	return out.kept, nil
}

// bounded keeps the beginning of what is written to it.
type bounded struct{ kept []byte }

func (b *bounded) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(len(p), mostOutput-len(b.kept))]...)
	return len(p), nil
}
