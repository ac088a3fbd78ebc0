package grader

import (
	"context"
	"io/fs"

	"assay/internal/bench"
)

// Files reads and lays files of a box's workspace; paths are relative to it.
type Files interface {
	ReadFile(ctx context.Context, path string, max int64) ([]byte, error)
	WriteFile(ctx context.Context, path string, data []byte, mode fs.FileMode) error
}

// Processes runs processes in a box. Errors that mean that the box is gone wrap
// bench.ErrBoxLost. Run kills what its process left behind and spares those of
// Start, which end with ctx at the latest. Reset kills every process, empties the
// workspace and lays tree.
type Processes interface {
	Reset(ctx context.Context, tree bench.Tree) error
	Run(ctx context.Context, c bench.Command) (bench.CommandResult, error)
	Start(ctx context.Context, c bench.Command) (bench.Process, error)
	Close() error
}

// Box is a sandbox as a grading needs it. One that also has a method
// Environment() bench.Environment gets it recorded.
type Box interface {
	Files
	Processes
}

// Boxes opens the two kinds of box of a grading.
type Boxes interface {
	Candidate(ctx context.Context) (Box, error)
	Judge(ctx context.Context) (Box, error)
}

func environmentOf(b Box) bench.Environment {
	if e, ok := b.(interface{ Environment() bench.Environment }); ok {
		return e.Environment()
	}
	return bench.Environment{}
}
