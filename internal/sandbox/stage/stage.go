// Package stage is what a process of a box passes through between its fork and
// its program: it gives up rights, sets the limits, which must be hard before
// foreign code runs, and becomes the program.
//
// A program that imports this package is its own stage: started under the name
// Name it does nothing else. That is decided while packages are initialised and
// not in main, for every process of a box begins with a stage, and initialising
// the libraries of the whole program takes several times as long as all that a
// stage does. So this package imports the standard library only, and little of
// it, which lets the linker's order put it before them (docs/decisions).
package stage

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// Name is the name (argument zero) of a stage.
const Name = "__box-stage"

// report is the descriptor that takes a message when the program cannot be
// executed; a successful exec closes it.
const report = 3

// Env is the environment of a stage: one thread of Go code suffices, and garbage
// is not collected.
func Env() []string { return []string{"GOMAXPROCS=1", "GOGC=off"} }

func init() {
	if os.Args[0] == Name {
		run(os.Args[1:])
	}
}

// Spec is what a stage is told. Limits of 0 are not set. It is told everything by
// arguments, so that the environment of the program, which may hold GODEBUG or
// LD_PRELOAD, touches nothing of ours.
type Spec struct {
	UID       int   // that the process takes, with the gid of the same number; 0: it stays who it is
	CPU       int64 // seconds
	Processes int64 // of the uid, threads count
	Files     int64 // open ones
	FileBytes int64 // largest file
	Memory    int64 // bytes of address space
	Dir       string
	Env, Argv []string
}

// Args is the argument list of the stage:
//
//	NAME UID CPU PROCESSES FILES FILEBYTES MEMORY DIR ENVCOUNT ENV... ARGV...
func (s Spec) Args() []string {
	a := []string{Name}
	for _, n := range []int64{int64(s.UID), s.CPU, s.Processes, s.Files, s.FileBytes, s.Memory} {
		a = append(a, strconv.FormatInt(n, 10))
	}
	a = append(a, s.Dir, strconv.Itoa(len(s.Env)))
	return append(append(a, s.Env...), s.Argv...)
}

// parse reads what follows the name.
func parse(args []string) (Spec, error) {
	var s Spec
	if len(args) < 8 {
		return s, fmt.Errorf("stage has %d arguments", len(args))
	}
	var uid int64
	for i, p := range []*int64{&uid, &s.CPU, &s.Processes, &s.Files, &s.FileBytes, &s.Memory} {
		n, err := strconv.ParseInt(args[i], 10, 64)
		if err != nil {
			return s, fmt.Errorf("stage number %d: %w", i, err)
		}
		*p = n
	}
	s.UID, s.Dir = int(uid), args[6]
	n, err := strconv.Atoi(args[7])
	if err != nil || n < 0 || len(args) < 8+n+1 {
		return s, fmt.Errorf("stage has no program after %q variables", args[7])
	}
	s.Env, s.Argv = args[8:8+n], args[8+n:]
	return s, nil
}

// run becomes the program, or reports why not and ends.
func run(args []string) {
	syscall.CloseOnExec(report)
	s, err := parse(args)
	if err == nil {
		err = s.exec()
	}
	if err != nil {
		_, _ = syscall.Write(report, []byte(err.Error()))
	}
	rawExit(127)
}
