package supervisor

import (
	"fmt"
	"math"
	"os"
	"path"
	"syscall"
	"time"

	"assay/internal/sandbox/frame"
	"assay/internal/sandbox/stage"
)

// announce makes a process known before it is forked, because its input and
// credits may follow the start frame at once.
func (sv *server) announce(f frame.Frame) (*process, error) {
	h, err := frame.Decode[frame.Start](f)
	if err != nil {
		return nil, err
	}
	p := &process{
		sv: sv, id: f.ID, h: h, outputBytes: h.Limits.OutputBytes, cpuLimit: time.Duration(h.Limits.CPUSeconds) * time.Second,
		unwanted: make(chan struct{}),
	}
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
	select {
	case sv.stages <- struct{}{}:
	case <-p.unwanted:
		sv.neverForked(p)
		return nil
	}
	forked, err := sv.fork(p, dir)
	if !forked {
		<-sv.stages
	}
	return err
}

// fork starts the stage of a process, which gives its place among the stages
// back when it has become the program.
func (sv *server) fork(p *process, dir string) (forked bool, err error) {
	if sv.crowded() {
		return false, invalid(fmt.Sprintf("a box runs at most %d processes of the host at once", processesAtOnce))
	}
	var theirs []int
	err = sv.hand.do(func() (err error) { // pipes belong to who makes them: programs open /dev/stdout
		theirs, err = p.open()
		return err
	})
	defer func() {
		for _, fd := range theirs {
			_ = syscall.Close(fd)
		}
	}()
	if err != nil {
		p.closeFiles()
		return false, fmt.Errorf("make the streams of a process: %w", err)
	}
	// No sweep may fall between the fork and the registration.
	sv.gate.RLock()
	defer sv.gate.RUnlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reason != "" {
		p.closeFiles()
		sv.neverForked(p)
		return false, nil
	}
	p.begun, p.oomBefore = time.Now(), sv.oom.read()
	attr := &syscall.ProcAttr{Dir: "/", Env: stage.Env(), Sys: &syscall.SysProcAttr{Setsid: true}}
	for _, fd := range theirs {
		attr.Files = append(attr.Files, uintptr(fd))
	}
	var ended <-chan ending
	p.pid, ended, err = sv.reaper.start(sv.self, sv.stageSpec(p.h, dir).Args(), attr)
	if err != nil {
		p.closeFiles()
		return false, fmt.Errorf("fork: %w", err)
	}
	sv.add(p)
	go p.out.forward()
	go p.err.forward()
	if p.stdin != nil {
		go p.stdin.feed()
	}
	go p.await(ended, time.Duration(p.h.Limits.WallMS)*time.Millisecond)
	return true, nil
}

// neverForked tells the end of a process that was not wanted any more.
func (sv *server) neverForked(p *process) {
	sv.send(frame.TypeExit, p.id, frame.Exit{Reason: p.reason, Code: -1}, nil)
	sv.forget(p)
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

func (sv *server) stageSpec(h frame.Start, dir string) stage.Spec {
	s := stage.Spec{
		UID: sv.who.uid, CPU: h.Limits.CPUSeconds, Files: int64(h.Limits.OpenFiles), FileBytes: h.Limits.FileBytes, Memory: h.Limits.MemoryBytes,
		Dir: dir, Env: strs(h.Env), Argv: strs(h.Argv),
	}
	n := sv.begin.Processes
	if h.Limits.Processes > 0 && (n <= 0 || h.Limits.Processes < n) {
		n = h.Limits.Processes
	}
	if n > 0 {
		s.Processes = int64(n + sv.who.ownThreads())
	}
	if m := sv.begin.MemoryBytes; m > 0 && (s.Memory <= 0 || m < s.Memory) {
		s.Memory = m
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
