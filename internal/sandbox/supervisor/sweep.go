package supervisor

import (
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// How long a sweep may take before the box counts as lost: a while in which no
// process ended, and in all. Hundreds of dying processes take their time on a
// busy machine.
const (
	sweepTime  = 2 * time.Second
	sweepTotal = 10 * time.Second
)

// sweep ends every process of the candidate and removes what outlives one.
func (sv *server) sweep() {
	sv.gate.Lock()
	defer sv.gate.Unlock()
	sv.killMarked()
}

// killMarked ends everything, and says of what the host wanted that we did it.
func (sv *server) killMarked() {
	sv.mu.Lock()
	for p := range sv.live {
		p.mu.Lock()
		if p.reason == "" {
			p.reason = reasonKilled
		}
		p.mu.Unlock()
		p.out.win.close()
		p.err.win.close()
	}
	sv.mu.Unlock()
	sv.killEverything()
}

// sweepUp ends what a process left behind, sparing processes that the host
// still wants, with their children.
func (sv *server) sweepUp() {
	sv.gate.Lock()
	defer sv.gate.Unlock()
	wanted := sv.wanted(nil)
	if len(wanted) == 0 {
		sv.killEverything()
		return
	}
	clean := sv.killUntilNone(func(table []proc) []proc {
		spared := family(table, wanted)
		var rest []proc
		for _, p := range table {
			if !spared[p.pid] {
				rest = append(rest, p)
			}
		}
		return rest
	})
	if !clean { // the wanted ones go too, and it was us
		sv.killMarked()
	}
}

// killFamily ends a process with what can be told to belong to it: all there
// is, when it is the only one.
func (sv *server) killFamily(p *process) {
	sv.gate.Lock()
	defer sv.gate.Unlock()
	p.mu.Lock()
	pid := p.pid
	p.mu.Unlock()
	if pid == 0 {
		return // it will not be forked
	}
	sv.reaper.signal(pid, unix.SIGKILL)
	if len(sv.wanted(p)) == 0 {
		sv.killEverything()
		return
	}
	sv.killUntilNone(func(table []proc) []proc {
		in := family(table, map[int]bool{pid: true})
		var members []proc
		for _, q := range table {
			if in[q.pid] {
				members = append(members, q)
			}
		}
		return members
	})
}

// wanted gives the live processes of the host but one, by pid.
func (sv *server) wanted(but *process) map[int]bool {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	pids := map[int]bool{}
	for p := range sv.live {
		if p != but {
			pids[p.pid] = true // set before it became live
		}
	}
	return pids
}

// killUntilNone stops, then kills, what choose picks until it picks nothing.
// Stopped processes cannot fork, so a fork bomb dries up.
func (sv *server) killUntilNone(choose func([]proc) []proc) bool {
	for end := time.Now().Add(sweepTime); time.Now().Before(end); {
		table, err := processTable()
		if err != nil {
			return false
		}
		alive := false
		chosen := choose(table)
		for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
			for _, p := range chosen {
				if !p.zombie {
					alive = true
					_ = unix.Kill(p.pid, sig)
				}
			}
		}
		sv.reaper.poke()
		if !alive {
			return true
		}
		time.Sleep(200 * time.Microsecond)
	}
	return false
}

// killEverything leaves no process of the candidate, or no box.
func (sv *server) killEverything() {
	pause, least := 100*time.Microsecond, math.MaxInt
	begun := time.Now()
	for progress := begun; ; {
		some := sv.who.killAll()
		sv.reaper.poke()
		table, err := processTable()
		if !some && err == nil && len(table) == 0 {
			break
		}
		if err == nil && len(table) < least {
			least, progress = len(table), time.Now()
		}
		if time.Since(progress) > sweepTime || time.Since(begun) > sweepTotal {
			sv.die(exitUnclean, fmt.Sprintf("%d processes are left %s after they were killed", len(table), time.Since(begun).Round(time.Millisecond)))
			return
		}
		time.Sleep(pause)
		pause = min(2*pause, 5*time.Millisecond)
	}
	if err := sv.emptyAll(sv.dirs.sweep); err != nil {
		sv.die(exitUnclean, err.Error())
	}
	if err := sv.hand.removeIPC("/proc/sysvipc"); err != nil {
		sv.die(exitUnclean, err.Error())
	}
}

// empty removes what is in the workspace and the temporary folders.
func (sv *server) empty() error {
	return sv.emptyAll(append([]string{sv.dirs.work}, sv.dirs.wipe...))
}

func (sv *server) emptyAll(dirs []string) error {
	return sv.hand.do(func() error {
		for _, dir := range dirs {
			if err := emptyPath(dir, sv.who.owner()); err != nil {
				return fileError("empty", dir, err)
			}
		}
		return nil
	})
}
