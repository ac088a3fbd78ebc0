package supervisor

import (
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"sync"
	"syscall"
	"time"

	"assay/internal/sandbox/frame"
)

// The reasons of an exit, as package bench spells them.
const (
	reasonExited     = "exited"
	reasonSignalled  = "signalled"
	reasonWall       = "wall_limit"
	reasonCPU        = "cpu_limit"
	reasonOutput     = "output_limit"
	reasonKilled     = "killed"
	reasonNotStarted = "not_started"
)

// process is one process that the host asked for, with what it forks.
type process struct {
	sv          *server
	id          uint32
	h           frame.Start
	outputBytes int64
	cpuLimit    time.Duration
	begun       time.Time
	stdin       *input // nil: none
	out, err    *output
	report      *os.File // of the stage

	mu     sync.Mutex
	pid    int    // 0: not forked yet
	reason string // why we ended it; empty: we did not
}

// announce makes a process known before it is forked, because its input and
// credits may follow the start frame at once.
func (sv *server) announce(f frame.Frame) (*process, error) {
	h, err := frame.Decode[frame.Start](f)
	if err != nil {
		return nil, err
	}
	p := &process{sv: sv, id: f.ID, h: h, outputBytes: h.Limits.OutputBytes, cpuLimit: time.Duration(h.Limits.CPUSeconds) * time.Second}
	if p.outputBytes <= 0 {
		p.outputBytes = math.MaxInt64
	}
	p.out = &output{p: p, typ: frame.TypeStdout, win: newWindow(frame.Window), done: make(chan struct{})}
	p.err = &output{p: p, typ: frame.TypeStderr, win: newWindow(frame.Window), done: make(chan struct{})}
	if h.Stdin {
		p.stdin = &input{p: p, more: make(chan struct{}, 1), done: make(chan struct{})}
	}
	sv.mu.Lock()
	defer sv.mu.Unlock()
	if sv.known[f.ID] != nil {
		return nil, fmt.Errorf("%w: process %d was started twice", frame.ErrProtocol, f.ID)
	}
	sv.known[f.ID] = p
	return p, nil
}

// start forks a process; its goroutines serve it until its exit frame is sent.
func (sv *server) start(p *process) error {
	if len(p.h.Argv) == 0 {
		return invalid("a process needs arguments")
	}
	dir, err := sv.work.folder(p.h.Dir)
	if err != nil {
		return err
	}
	theirs, err := p.open()
	defer func() {
		for _, fd := range theirs {
			_ = syscall.Close(fd)
		}
	}()
	if err != nil {
		p.closeFiles()
		return fmt.Errorf("make the streams of a process: %w", err)
	}
	// No sweep may fall between the fork and the registration.
	sv.gate.RLock()
	defer sv.gate.RUnlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reason != "" {
		p.closeFiles()
		sv.send(frame.TypeExit, p.id, frame.Exit{Reason: p.reason, Code: -1}, nil)
		sv.forget(p)
		return nil
	}
	p.begun = time.Now()
	attr := &syscall.ProcAttr{Dir: "/", Env: []string{}, Sys: sv.who.attr()}
	for _, fd := range theirs {
		attr.Files = append(attr.Files, uintptr(fd))
	}
	var ended <-chan ending
	p.pid, ended, err = sv.reaper.start("/proc/self/exe", sv.stageSpec(p.h, dir).args(), attr)
	if err != nil {
		p.closeFiles()
		return fmt.Errorf("fork: %w", err)
	}
	sv.add(p)
	go p.out.forward()
	go p.err.forward()
	if p.stdin != nil {
		go p.stdin.feed()
	}
	go p.await(ended, time.Duration(p.h.Limits.WallMS)*time.Millisecond)
	return nil
}

// open makes the streams; theirs are descriptors 0, 1, 2 and 3 of the stage.
func (p *process) open() (theirs []int, err error) {
	add := func(ours int) (end *os.File) {
		if err != nil {
			return nil
		}
		var fd int
		if end, fd, err = pipe(ours); err == nil {
			theirs = append(theirs, fd)
		}
		return end
	}
	if p.stdin != nil {
		p.stdin.file = add(1)
	} else {
		var fd int
		if fd, err = syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0); err == nil {
			theirs = append(theirs, fd)
		}
	}
	p.out.file = add(0)
	p.err.file = add(0)
	p.report = add(0)
	return theirs, err
}

func (p *process) closeFiles() {
	files := []*os.File{p.report, p.out.file, p.err.file}
	if p.stdin != nil {
		files = append(files, p.stdin.file)
	}
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// await sees the process to its end and tells the host.
func (p *process) await(ended <-chan ending, wall time.Duration) {
	if wall > 0 {
		timer := time.AfterFunc(wall, func() { p.end(reasonWall, false) })
		defer timer.Stop()
	}
	message := p.reported()
	e := <-ended
	took := time.Since(p.begun)
	p.sv.remove(p)
	if p.h.Sweep {
		p.sv.sweepUp()
	}
	if p.stdin != nil {
		p.stdin.close()
		<-p.stdin.done
	}
	p.out.finish()
	p.err.finish()
	x := p.exit(e, message)
	x.WallUS = took.Microseconds()
	x.StdoutBytes, x.StderrBytes = p.out.total.Load(), p.err.total.Load()
	p.sv.send(frame.TypeExit, p.id, x, nil)
	p.sv.forget(p)
}

func (sv *server) stageSpec(h frame.Start, dir string) stageSpec {
	s := stageSpec{
		cpu: h.Limits.CPUSeconds, files: int64(h.Limits.OpenFiles), fileBytes: h.Limits.FileBytes, memory: h.Limits.MemoryBytes,
		dir: dir, env: strs(h.Env), argv: strs(h.Argv),
	}
	n := sv.begin.Processes
	if h.Limits.Processes > 0 && (n <= 0 || h.Limits.Processes < n) {
		n = h.Limits.Processes
	}
	if n > 0 {
		s.processes = int64(n + sv.who.ownThreads())
	}
	if m := sv.begin.MemoryBytes; m > 0 && (s.memory <= 0 || m < s.memory) {
		s.memory = m
	}
	return s
}

func strs(b [][]byte) []string {
	s := make([]string, len(b))
	for i := range b {
		s[i] = string(b[i])
	}
	return s
}

// end kills the process and everything that can be told to belong to it. The
// first reason stays. discard: nobody wants its output any more.
func (p *process) end(reason string, discard bool) {
	p.mu.Lock()
	if p.reason == "" {
		p.reason = reason
	}
	p.mu.Unlock()
	if discard {
		p.out.win.close()
		p.err.win.close()
	}
	p.sv.killFamily(p)
}

// reported reads what the stage has to say: nothing when the program runs.
func (p *process) reported() string {
	defer p.report.Close()
	b, _ := io.ReadAll(io.LimitReader(p.report, 8<<10))
	return string(b)
}

// exit classifies the end of a process.
func (p *process) exit(e ending, message string) frame.Exit {
	x := frame.Exit{
		Reason: reasonExited, Code: e.status.ExitStatus(), CPUUS: e.cpu.Microseconds(),
	}
	if e.status.Signaled() {
		x.Reason, x.Code, x.Signal = reasonSignalled, -1, int(e.status.Signal())
	}
	p.mu.Lock()
	reason := p.reason
	p.mu.Unlock()
	// The kernel's clock of the limit and the one of the accounts differ by some
	// ticks, so the signal is believed a little early.
	overCPU := p.cpuLimit > 0 && (x.Signal == int(syscall.SIGXCPU) && e.cpu >= p.cpuLimit*3/4 || x.Signal == int(syscall.SIGKILL) && e.cpu >= p.cpuLimit)
	switch {
	case message != "":
		x.Reason, x.Code, x.Message = reasonNotStarted, -1, message
	case reason == reasonOutput, reason != "" && e.status.Signaled():
		x.Reason, x.Code = reason, -1
	case overCPU:
		x.Reason = reasonCPU
	}
	return x
}

// folder gives the absolute path of a folder in the workspace for a process.
func (w workspace) folder(dir []byte) (string, error) {
	if len(dir) == 0 || string(dir) == "." {
		return w.path, nil
	}
	if err := checkPath(string(dir)); err != nil {
		return "", err
	}
	return path.Join(w.path, string(dir)), nil
}
