package supervisor

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The stage runs between fork and the candidate's program: it sets the limits,
// which must be hard before foreign code runs, and executes the program. It is
// told everything by arguments, so that the environment of the program, which
// may hold GODEBUG or LD_PRELOAD, touches nothing of ours:
//
//	CPU PROCESSES FILES FILEBYTES MEMORY DIR ENVCOUNT ENV... ARGV...
//
// Descriptor 3 takes a message when the program cannot be executed; a successful
// exec closes it.
const stageReport = 3

// stageSpec is what a stage is told. Limits of 0 are not set.
type stageSpec struct {
	cpu, processes, files, fileBytes, memory int64
	dir                                      string
	env, argv                                []string
}

func (s stageSpec) args() []string {
	a := []string{Arg, Arg, stageArg}
	for _, n := range []int64{s.cpu, s.processes, s.files, s.fileBytes, s.memory} {
		a = append(a, strconv.FormatInt(n, 10))
	}
	a = append(a, s.dir, strconv.Itoa(len(s.env)))
	return append(append(a, s.env...), s.argv...)
}

func parseStage(args []string) (stageSpec, error) {
	var s stageSpec
	if len(args) < 7 {
		return s, fmt.Errorf("stage has %d arguments", len(args))
	}
	for i, p := range []*int64{&s.cpu, &s.processes, &s.files, &s.fileBytes, &s.memory} {
		n, err := strconv.ParseInt(args[i], 10, 64)
		if err != nil {
			return s, fmt.Errorf("stage limit %d: %w", i, err)
		}
		*p = n
	}
	s.dir = args[5]
	n, err := strconv.Atoi(args[6])
	if err != nil || n < 0 || len(args) < 7+n+1 {
		return s, fmt.Errorf("stage has no program after %q variables", args[6])
	}
	s.env, s.argv = args[7:7+n], args[7+n:]
	return s, nil
}

func stage(args []string) int {
	syscall.CloseOnExec(stageReport)
	s, err := parseStage(args)
	if err == nil {
		err = s.exec()
	}
	if err != nil {
		_, _ = unix.Write(stageReport, []byte(err.Error()))
	}
	rawExit(127)
	return 127
}

func fault(what string, err error) error { return fmt.Errorf("%s: %w", what, err) }

// exec sets everything and becomes the program; it returns only on failure.
func (s stageSpec) exec() error {
	if err := os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0); err != nil {
		return fmt.Errorf("raise oom_score_adj: %w", err)
	}
	if err := syscall.Chdir(s.dir); err != nil {
		return fault(fmt.Sprintf("enter folder %q", s.dir), err)
	}
	candidates := lookPath(s.argv[0], s.env)
	argv, err := syscall.SlicePtrFromStrings(s.argv)
	if err != nil {
		return fault("arguments", err)
	}
	env, err := syscall.SlicePtrFromStrings(s.env)
	if err != nil {
		return fault("environment", err)
	}
	paths := make([]*byte, 0, len(candidates))
	for _, path := range candidates {
		p, err := syscall.BytePtrFromString(path)
		if err != nil {
			return fault(fmt.Sprintf("execute %q", s.argv[0]), syscall.EINVAL)
		}
		paths = append(paths, p)
	}
	// The runtime has reserved more address space than a candidate may have, and
	// may want a thread that the limit on processes forbids: from the first limit
	// to the end nothing may allocate, collect or leave its thread. What can go
	// wrong at the end is put into words before.
	reports := newExecReports(s.argv[0])
	memory := syscall.Rlimit{Cur: uint64(s.memory), Max: uint64(s.memory)}
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	if err := s.limit(); err != nil {
		return err
	}
	last := syscall.ENOENT
	if s.memory > 0 {
		if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, unix.RLIMIT_AS, uintptr(unsafe.Pointer(&memory)), 0, 0, 0); errno != 0 {
			return fault(fmt.Sprintf("set limit memory to %d", s.memory), errno)
		}
	}
	for _, p := range paths {
		if errno := execve(p, argv, env); errno != syscall.ENOENT && errno != syscall.ENOTDIR {
			last = errno
		}
	}
	reports.write(last)
	return nil
}

// limit sets hard limits, all but that of the address space.
func (s stageSpec) limit() error {
	set := func(name string, resource int, cur, hard uint64) error {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: cur, Max: hard}); err != nil {
			return fault(fmt.Sprintf("set limit %s to %d", name, cur), err)
		}
		return nil
	}
	if err := set("core", unix.RLIMIT_CORE, 0, 0); err != nil {
		return err
	}
	if s.cpu > 0 {
		// SIGXCPU first; a second later SIGKILL for those that catch it.
		if err := set("cpu", unix.RLIMIT_CPU, uint64(s.cpu), uint64(s.cpu+1)); err != nil {
			return err
		}
	}
	for _, l := range []struct {
		name     string
		resource int
		n        int64
	}{
		{"open files", unix.RLIMIT_NOFILE, s.files},
		{"file size", unix.RLIMIT_FSIZE, s.fileBytes},
		{"processes", unix.RLIMIT_NPROC, s.processes},
	} {
		if l.n <= 0 {
			continue
		}
		if err := set(l.name, l.resource, uint64(l.n), uint64(l.n)); err != nil {
			return err
		}
	}
	return nil
}

// lookPath gives the paths to try for a program, as execvp does with the PATH
// of the program's own environment.
func lookPath(name string, env []string) []string {
	if strings.Contains(name, "/") || name == "" {
		return []string{name}
	}
	var paths []string
	for _, kv := range env {
		dirs, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for dir := range strings.SplitSeq(dirs, ":") {
			if dir == "" {
				dir = "."
			}
			paths = append(paths, dir+"/"+name)
		}
		break
	}
	return paths
}
