package stage

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"
)

func fault(what string, err error) error { return fmt.Errorf("%s: %w", what, err) }

// exec sets everything and becomes the program; it returns only on failure.
func (s Spec) exec() error {
	if err := os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0); err != nil {
		return fmt.Errorf("raise oom_score_adj: %w", err)
	}
	candidates := lookPath(s.Argv[0], s.Env)
	argv, err := syscall.SlicePtrFromStrings(s.Argv)
	if err != nil {
		return fault("arguments", err)
	}
	env, err := syscall.SlicePtrFromStrings(s.Env)
	if err != nil {
		return fault("environment", err)
	}
	paths := make([]*byte, 0, len(candidates))
	for _, path := range candidates {
		p, err := syscall.BytePtrFromString(path)
		if err != nil {
			return fault(fmt.Sprintf("execute %q", s.Argv[0]), syscall.EINVAL)
		}
		paths = append(paths, p)
	}
	// The runtime has reserved more address space than a candidate may have, and
	// may want a thread that the limit on processes forbids: from the first limit
	// to the end nothing may allocate, collect (Env says so) or leave its thread.
	// What can go wrong at the end is put into words before.
	reports := newExecReports(s.Argv[0])
	memory := syscall.Rlimit{Cur: uint64(s.Memory), Max: uint64(s.Memory)}
	runtime.LockOSThread()
	if err := become(s.UID); err != nil {
		return err
	}
	if err := syscall.Chdir(s.Dir); err != nil { // by the rights of the candidate
		return fault(fmt.Sprintf("enter folder %q", s.Dir), err)
	}
	if err := s.limit(); err != nil {
		return err
	}
	last := syscall.ENOENT
	if s.Memory > 0 {
		if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, syscall.RLIMIT_AS, uintptr(unsafe.Pointer(&memory)), 0, 0, 0); errno != 0 {
			return fault(fmt.Sprintf("set limit memory to %d", s.Memory), errno)
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
