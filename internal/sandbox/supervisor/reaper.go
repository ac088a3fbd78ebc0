package supervisor

import (
	"errors"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ending is how a child ended.
type ending struct {
	status syscall.WaitStatus
	cpu    time.Duration // of it and the children it waited for
}

// reaper collects every child of PID 1, its own and adopted ones.
type reaper struct {
	mu     sync.Mutex
	waited map[int]chan ending
	wake   chan struct{} // of one: there may be a child again
}

func newReaper() *reaper {
	return &reaper{waited: map[int]chan ending{}, wake: make(chan struct{}, 1)}
}

// start forks and registers the child under one lock, so that its end cannot be
// collected before it is known.
func (r *reaper) start(path string, argv []string, attr *syscall.ProcAttr) (int, <-chan ending, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return 0, nil, err
	}
	ch := make(chan ending, 1)
	r.waited[pid] = ch
	r.poke()
	return pid, ch, nil
}

// poke makes the reaper look again. The token outlives the moment, so a fork
// between its ECHILD and its wait is not missed.
func (r *reaper) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// loop runs as long as the supervisor.
func (r *reaper) loop() {
	for {
		var status syscall.WaitStatus
		var usage syscall.Rusage
		pid, err := syscall.Wait4(-1, &status, unix.WALL, &usage)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			<-r.wake
		case status.Exited() || status.Signaled():
			r.deliver(pid, ending{status, cpu(usage)})
		}
	}
}

func (r *reaper) deliver(pid int, e ending) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ch, ok := r.waited[pid]; ok {
		delete(r.waited, pid)
		ch <- e
	}
}

// signal sends a signal to a child that has not been collected, and so to no
// process that took over its number.
func (r *reaper) signal(pid int, sig syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.waited[pid]; ok {
		_ = syscall.Kill(pid, sig)
	}
}

func cpu(u syscall.Rusage) time.Duration {
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
