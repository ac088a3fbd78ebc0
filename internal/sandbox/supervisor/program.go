package supervisor

import (
	"fmt"

	"assay/internal/sandbox/program"

	"golang.org/x/sys/unix"
)

// aboveStreams is the first descriptor that no stream of a child lands on.
const aboveStreams = 16

// stageProgram is the path by which the supervisor starts itself as a stage:
// from memory where its own file is slow to execute, for every process begins
// with a stage.
func stageProgram() (string, error) {
	const running = "/proc/self/exe"
	f, err := program.Running()
	if err != nil {
		return "", fmt.Errorf("open the supervisor's program: %w", err)
	}
	defer f.Close()
	if !program.Slow(f) {
		return running, nil
	}
	m, err := program.InMemory(f)
	if err != nil {
		return "", err
	}
	defer m.Close()
	fd, err := unix.FcntlInt(m.Fd(), unix.F_DUPFD_CLOEXEC, aboveStreams)
	if err != nil {
		return "", fmt.Errorf("keep the program in memory open: %w", err)
	}
	return fmt.Sprintf("/proc/self/fd/%d", fd), nil
}
