package docker

import (
	"context"
	"errors"
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
	host  string // address of the engine

	mu     sync.Mutex
	pid    int
	in     io.WriteCloser
	ended  chan struct{} // closed when the child ended
	closed bool
	doubts bool // a container may still appear
}

func startReaper(token, host string) (*reaper, error) {
	r := &reaper{token: token, host: host}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r, r.start()
}

// start needs the lock.
func (r *reaper) start() error {
	cmd := exec.Command("/proc/self/exe", ReaperArg, r.token)
	cmd.Dir, cmd.Env = "/", reaperEnv(os.Environ(), r.host)
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
		return errors.New("the factory of boxes is closed")
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

// close ends the reaper, or lets it go on looking on its own where the last look
// of ours failed or may have come too early.
func (r *reaper) close(looked bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	if r.doubts || !looked {
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

// reaperEnv is what reaching the engine takes. Keys are no business of a process
// that may outlive us.
func reaperEnv(environ []string, host string) []string {
	needed := []string{"DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY", "DOCKER_API_VERSION", "HOME", "PATH"}
	kept := []string{"DOCKER_HOST=" + host}
	for _, kv := range environ {
		if name, _, _ := strings.Cut(kv, "="); slices.Contains(needed, name) {
			kept = append(kept, kv)
		}
	}
	return kept
}

// Reap is the reaper's program: it waits until its stdin ends and removes every
// box of the owner, unless the runner took its leave. The result is the exit code.
func Reap(args []string, stdin io.Reader) (exitCode int) {
	if len(args) != 1 || args[0] == "" {
		return 2
	}
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE)
	last, _ := io.ReadAll(io.LimitReader(stdin, 64)) // an end is an end
	if string(last) == farewell {
		return 0
	}
	// It connects anew with each request: an engine that is away may come back.
	cli, err := client.New(client.FromEnv)
	if err != nil {
		return 3
	}
	defer cli.Close()
	reap(cli, args[0])
	return 0
}

func reap(cli *client.Client, token string) {
	began := time.Now()
	for time.Since(began) < reapUntil {
		_ = reapOnce(cli, token) // the next round tries again
		pause := reapSlow
		if time.Since(began) < reapFast {
			pause = reapOften
		}
		time.Sleep(pause)
	}
}

// reapOnce removes all that the owner has, side by side: an engine takes a tenth
// of a second for each.
func reapOnce(cli *client.Client, token string) error {
	all, err := list(context.Background(), cli, labelOwner, token)
	if err != nil {
		return err
	}
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, c := range all {
		wg.Go(func() { errs[i] = remove(context.Background(), cli, c.ID) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
