package docker

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/moby/moby/client"
)

// ReaperArg is the hidden first argument of the assay binary that makes it a
// reaper. The program's main passes what follows it to Reap, before it looks at
// anything else.
const ReaperArg = "__box-reaper"

// How long a reaper looks for boxes of a runner that died: a container that was
// being made then may appear seconds later.
const (
	reapOften = 50 * time.Millisecond // at first
	reapFast  = 3 * time.Second
	reapSlow  = 500 * time.Millisecond
	reapUntil = 15 * time.Second
)

// farewell is what a runner that ends in order writes to its reaper.
const farewell = "done\n"

// reaper is the child that removes our boxes when we die. It holds the other end
// of a pipe, in a session of its own, so that no signal of a terminal ends it.
type reaper struct {
	token string

	mu     sync.Mutex
	pid    int
	in     io.WriteCloser
	ended  chan struct{} // closed when the child ended
	closed bool
	doubts bool // a container may still appear
}

func startReaper(token string) (*reaper, error) {
	r := &reaper{token: token}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r, r.start()
}

// start needs the lock.
func (r *reaper) start() error {
	cmd := exec.Command("/proc/self/exe", ReaperArg, r.token)
	cmd.Dir, cmd.Env = "/", reaperEnv(os.Environ())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("start the reaper of boxes: %w", err)
	}
	ended := make(chan struct{})
	r.pid, r.in, r.ended = cmd.Process.Pid, in, ended
	go func() {
		defer close(ended)
		_ = cmd.Wait() // a reaper that ended early is replaced
	}()
	return nil
}

// ensure starts another reaper when the last one died.
func (r *reaper) ensure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return fmt.Errorf("the factory of boxes is closed")
	}
	select {
	case <-r.ended:
		return r.start()
	default:
		return nil
	}
}

// doubt says that the engine may still make a container of ours, so that one last
// look does not suffice.
func (r *reaper) doubt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doubts = true
}

// close ends the reaper after a last look, or lets it go on looking on its own.
func (r *reaper) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	if r.doubts {
		return r.in.Close() // as if we had died
	}
	_, _ = io.WriteString(r.in, farewell)
	_ = r.in.Close()
	timer := time.NewTimer(removeTime)
	defer timer.Stop()
	select {
	case <-r.ended:
		return nil
	case <-timer.C:
		return fmt.Errorf("the reaper of boxes did not end within %s", removeTime)
	}
}

// reaperEnv is what finding the engine takes. API keys are no business of a
// process that may outlive us.
func reaperEnv(environ []string) []string {
	var kept []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "DOCKER_") || strings.HasPrefix(name, "TESTCONTAINERS_") || slices.Contains([]string{"HOME", "PATH", "XDG_RUNTIME_DIR"}, name) {
			kept = append(kept, kv)
		}
	}
	return kept
}

// Reap is the reaper's program: it waits until its stdin ends and removes every
// box of the owner. The result is the exit code.
func Reap(args []string, stdin io.Reader) (exitCode int) {
	if len(args) != 1 || args[0] == "" {
		return 2
	}
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE)
	cli, cerr := reaperClient()
	last, err := io.ReadAll(io.LimitReader(stdin, 64))
	if err != nil || cerr != nil {
		return 3
	}
	defer cli.Close()
	if string(last) == farewell {
		_, err := reapOnce(cli, args[0])
		return map[bool]int{true: 0, false: 3}[err == nil]
	}
	reap(cli, args[0])
	return 0
}

// reaperClient connects while the runner is alive, so that nothing is left to be
// found out when it is not.
func reaperClient() (*client.Client, error) {
	e, err := Connect(context.Background())
	if err != nil {
		return nil, err
	}
	return e.cli, nil
}

func reap(cli *client.Client, token string) {
	began := time.Now()
	for time.Since(began) < reapUntil {
		_, _ = reapOnce(cli, token) // an engine that is away may come back
		pause := reapSlow
		if time.Since(began) < reapFast {
			pause = reapOften
		}
		time.Sleep(pause)
	}
}

// reapOnce removes all that the owner has, side by side: an engine takes a tenth
// of a second for each.
func reapOnce(cli *client.Client, token string) (int, error) {
	all, err := list(context.Background(), cli, labelOwner, token)
	if err != nil {
		return 0, err
	}
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, c := range all {
		wg.Go(func() { errs[i] = remove(context.Background(), cli, c.ID) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return len(all), err
		}
	}
	return len(all), nil
}
