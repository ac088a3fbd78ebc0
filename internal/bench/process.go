package bench

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"
)

// ErrBoxLost is wrapped by every error that means that a box is gone or can no
// longer be trusted. Whose fault it was is the caller's question.
var ErrBoxLost = errors.New("box lost")

// ProcessLimits bound one process of a box and what it starts.
type ProcessLimits struct {
	Wall        time.Duration
	CPU         time.Duration // of each process; 0: the wall limit
	OutputBytes int64         // each of stdout and stderr; over it the process is killed
	KeepBytes   int64         // of each stream kept by Box.Run: head and tail; 0: OutputBytes
	MemoryBytes int64         // address space of each process; 0: the box's own limit only
	FileBytes   int64         // largest file it may write; 0: the box's disk
	Processes   int           // 0: the box's own limit
	OpenFiles   int           // 0: 256
}

// Command is a process to be started in a box as the candidate's uid. Dir is
// relative to the workspace; Env is the whole environment.
type Command struct {
	Argv   []string
	Dir    string
	Env    []string // KEY=VALUE
	Stdin  []byte   // Box.Run only
	Limits ProcessLimits
}

// ExitReason says why a process ended.
type ExitReason string

// How a process ends. Every reason but exited and signalled is a limit or an act
// of ours.
const (
	ExitExited      ExitReason = "exited"
	ExitSignalled   ExitReason = "signalled"
	ExitWallLimit   ExitReason = "wall_limit"
	ExitCPULimit    ExitReason = "cpu_limit"
	ExitOutputLimit ExitReason = "output_limit"
	ExitMemoryLimit ExitReason = "memory_limit"
	ExitKilled      ExitReason = "killed"      // by us: Kill, Close, end of context
	ExitNotStarted  ExitReason = "not_started" // the program could not be executed
)

// Exit is the end of a process.
type Exit struct {
	Reason      ExitReason
	Code        int           // exit code; -1 where a signal or limit ended it
	Signal      int           // signal number; 0: none
	Message     string        // not_started: why
	Wall        time.Duration // start to end, measured in the box
	CPU         time.Duration // user and system time of the process and its waited children
	StdoutBytes int64         // written in all, also what was not kept
	StderrBytes int64
	// OOMKills is how many processes of the box the kernel killed for memory while
	// this one ran; nil: not known, as the box cannot count them.
	OOMKills *int
}

// Process is a running process of a box with streams. Stdout and Stderr must be
// read; both end before Wait returns.
type Process interface {
	Stdin() io.WriteCloser
	Stdout() io.Reader
	Stderr() io.Reader
	Kill()
	// Wait returns the end of the process. Its error wraps ErrBoxLost, or is the
	// context's.
	Wait(ctx context.Context) (Exit, error)
}

// CommandResult is the end of a Box.Run with the output kept.
type CommandResult struct {
	Exit
	Stdout []byte // at most KeepBytes: head and tail around a mark when more came
	Stderr []byte
}

// DirEntry is one entry of a listed directory.
type DirEntry struct {
	Path string // relative to the workspace
	Kind string // "file", "dir", "symlink", "other"
	Size int64  // bytes of a file
}

// Enforces says which limits a kind of box can enforce on the whole box.
type Enforces struct {
	Memory, Processes, Disk, Inodes, CPU, Network, UID bool
}

// String lists what is enforced, and after "not" what is not.
func (e Enforces) String() string {
	var yes, no []string
	for _, l := range []struct {
		name string
		on   bool
	}{
		{"memory", e.Memory}, {"processes", e.Processes}, {"disk", e.Disk}, {"inodes", e.Inodes}, {"cpu", e.CPU}, {"network", e.Network}, {"uid", e.UID},
	} {
		if l.on {
			yes = append(yes, l.name)
		} else {
			no = append(no, l.name)
		}
	}
	s := strings.Join(yes, ", ")
	if len(no) > 0 {
		s += "; not " + strings.Join(no, ", ")
	}
	return s
}

// Environment identifies where processes of a box ran.
type Environment struct {
	Kind           string // "bwrap", "docker"
	Root           string // digest of the root file system or of the image's layers
	Python         string // "3.11.2"
	PackagesDigest string // sha256 of the sorted package list, hex
	Enforces       Enforces
}
