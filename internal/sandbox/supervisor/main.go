// Package supervisor is what runs as PID 1 inside a box: the assay binary under
// a hidden first argument. It speaks frames with the host on stdin and stdout,
// starts and ends processes of the candidate, and does file work in the
// workspace. It ends, and everything in the box with it, when its stdin ends.
//
// It uses neither os/exec nor os.Process: wait4(-1), which an init process
// needs, would race with theirs.
package supervisor

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"assay/internal/sandbox/seccomp"

	"golang.org/x/sys/unix"
)

// Arg is the hidden first argument of the assay binary. The program's main
// passes what follows it to Main, before it looks at anything else.
const Arg = "__box-supervisor"

// firstFrame is how long a supervisor waits for a host that never speaks.
const firstFrame = 5 * time.Second

// mostRunning bounds the threads that run Go code at once.
const mostRunning = 4

// Exit codes of the supervisor.
const (
	exitDone     = 0
	exitProtocol = 3 // the host broke the protocol or never spoke
	exitDeadline = 4
	exitUnclean  = 5 // processes of the candidate could not be ended
	exitSetup    = 6
)

// Main runs the supervisor. Where it returns, the result is the exit code.
func Main(args []string) (exitCode int) {
	who, err := parseIdentity(args)
	if err == nil {
		err = who.prepare()
	}
	if err == nil {
		err = protect()
	}
	if err == nil && who.other() { // boxes of one uid come with their filter
		err = seccomp.Install()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "supervisor: %v\n", err)
		return exitSetup
	}
	// Not os.Exit: nothing of ours is to run between the decision and the end.
	syscall.Exit(serve(os.Stdin, os.Stdout, defaultPlaces(), who))
	return exitDone
}

// protect closes the ways in which a process of the same uid could reach the
// supervisor, and keeps its threads few: they count against the limit on
// processes of the box, and a Go program that gets no thread dies.
func protect() error {
	runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), mostRunning))
	// Descriptors above 2 came from the launcher; no process may inherit them.
	if err := unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("mark descriptors close-on-exec: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("make undumpable: %w", err)
	}
	unix.Umask(0o022)
	// Caught and dropped rather than ignored: an ignored signal would stay
	// ignored in every process of the candidate.
	signal.Notify(make(chan os.Signal, 1))
	return nil
}

// places are the folders that a supervisor works in.
type places struct {
	work  string   // the workspace
	wipe  []string // emptied by a reset beside the workspace
	sweep []string // emptied by a sweep: what outlives processes
	oom   []string // where the kernel may count kills for memory
}

func defaultPlaces() places {
	return places{
		work: "/w", wipe: []string{"/tmp"}, sweep: []string{"/dev/shm", "/dev/mqueue"},
		oom: []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"},
	}
}
