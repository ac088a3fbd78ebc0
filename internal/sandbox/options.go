package sandbox

import (
	"fmt"
	"time"
)

// Purpose says whose code a box will run.
type Purpose string

// The purposes of a box.
const (
	PurposeAgent     Purpose = "agent"     // the tools of one attempt
	PurposeCandidate Purpose = "candidate" // a frozen candidate while it is judged
	PurposeJudge     Purpose = "judge"     // the test runner of a fixture
)

// Limits of a command that names none of its own.
const (
	DefaultWall        = 60 * time.Second
	DefaultOutputBytes = 8 << 20
	DefaultOpenFiles   = 256
)

// Options bound a whole box. Zero takes the default of the purpose.
type Options struct {
	Purpose     Purpose
	DiskBytes   int64         // of /w
	TmpBytes    int64         // of /tmp and of /dev/shm, each
	Inodes      int64         // of /w; only where the kind enforces it
	Processes   int           // processes and threads of the candidate at once
	MemoryBytes int64         // of each process, and where the kind enforces it of the whole box, files included
	CPUs        float64       // cores that the whole box may use; only where the kind enforces it
	Deadline    time.Duration // the box ends itself after it, whatever happens outside
}

// WithDefaults fills what is zero and refuses what cannot be.
func (o Options) WithDefaults() (Options, error) {
	if o.Purpose == "" {
		o.Purpose = PurposeCandidate
	}
	d := Options{DiskBytes: 64 << 20, TmpBytes: 32 << 20, Inodes: 16384, Processes: 64, MemoryBytes: 1 << 30, CPUs: 2, Deadline: time.Hour}
	switch o.Purpose {
	case PurposeAgent:
		d.DiskBytes, d.Deadline = 256<<20, 6*time.Hour
	case PurposeCandidate, PurposeJudge:
	default:
		return o, fmt.Errorf("box purpose %q is not known; use agent, candidate or judge", o.Purpose)
	}
	fill(&o.DiskBytes, d.DiskBytes)
	fill(&o.TmpBytes, d.TmpBytes)
	fill(&o.Inodes, d.Inodes)
	fill(&o.Processes, d.Processes)
	fill(&o.MemoryBytes, d.MemoryBytes)
	fill(&o.CPUs, d.CPUs)
	fill(&o.Deadline, d.Deadline)
	if o.DiskBytes < 0 || o.TmpBytes < 0 || o.Inodes < 0 || o.Processes < 0 || o.MemoryBytes < 0 || !(o.CPUs > 0) || o.Deadline < 0 {
		return o, fmt.Errorf("box limits may not be negative: %+v", o)
	}
	return o, nil
}

// Exec says whether files of the workspace and of /tmp may be executed, where
// the kind can forbid it. An agent may run what it wrote, and its candidate must
// be able to do the same when it is judged; a judge has no reason to.
func (o Options) Exec() bool { return o.Purpose != PurposeJudge }

func fill[T ~int | ~int64 | ~float64](v *T, def T) {
	if *v == 0 {
		*v = def
	}
}
