package supervisor

import (
	"fmt"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// hand does work on what belongs to the candidate: files, pipes, System V IPC.
// Where the candidate has a uid of its own, that work is done with its rights,
// on one thread kept for it: root without capabilities could neither read nor
// remove a closed file of another uid.
//
// The thread takes the candidate's ids for files only. They decide what it may
// open, but not who may signal, trace or slow it down: for all that it stays
// root's.
type hand struct {
	who  identity
	jobs chan func() // nil: work is done where it is asked for
}

// newHand starts the thread, which lives as long as the supervisor.
func newHand(who identity) (hand, error) {
	if !who.other() {
		return hand{}, nil
	}
	h := hand{who, make(chan func())}
	ready := make(chan error)
	go func() {
		runtime.LockOSThread()
		ready <- who.takeFiles()
		for job := range h.jobs {
			job()
		}
	}()
	return h, <-ready
}

// do does one piece of work and waits for it. Work must not ask for more work.
func (h hand) do(work func() error) error {
	if h.jobs == nil {
		return work()
	}
	done := make(chan error, 1)
	h.jobs <- func() { done <- work() }
	return <-done
}

// handed is do for work with a result.
func handed[T any](h hand, work func() (T, error)) (T, error) {
	var v T
	err := h.do(func() (err error) {
		v, err = work()
		return err
	})
	return v, err
}

// removeIPC removes all System V IPC. The kernel asks for the effective uid
// there, which others may reach a thread by: no process of the candidate may be
// left.
func (h hand) removeIPC(dir string) error {
	return h.do(func() error {
		if !h.who.other() {
			return removeIPC(dir)
		}
		if err := setEffective(h.who.uid); err != nil {
			return err
		}
		err := removeIPC(dir)
		if back := setEffective(0); back != nil {
			return back
		}
		if back := h.who.takeFiles(); back != nil { // they had followed the effective uid
			return back
		}
		return err
	})
}

// setEffective changes the effective uid of this thread alone.
func setEffective(uid int) error {
	const same = ^uintptr(0)
	if _, _, errno := syscall.RawSyscall(unix.SYS_SETRESUID, same, uintptr(uid), same); errno != 0 {
		return fmt.Errorf("make %d the effective uid: %w", uid, errno)
	}
	return nil
}

// takeFiles gives this thread the ids of the candidate for files. The calls
// themselves never fail: what they left is asked for.
func (i identity) takeFiles() error {
	for _, set := range []func(int) (int, error){unix.SetfsgidRetGid, unix.SetfsuidRetUid} {
		if _, err := set(i.uid); err != nil {
			return fmt.Errorf("take id %d for files: %w", i.uid, err)
		}
		if now, err := set(-1); err != nil || now != i.uid {
			return fmt.Errorf("take id %d for files: it is %d, %v; the box needs the capabilities SETUID and SETGID", i.uid, now, err)
		}
	}
	return nil
}
