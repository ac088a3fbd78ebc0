// Package sandbox is the contract of boxes: places in which code that we do not
// trust runs, with a workspace at /w, limits and one way in and out. Kinds of
// box stand in packages below; all of them speak to the same supervisor inside
// the box (package supervisor) over frames (package frame), through the host's
// end of it (package link).
package sandbox

import (
	"context"
	"io/fs"

	"assay/internal/bench"
)

// Box is one sandbox with a workspace at /w. Every path is relative to the
// workspace, slash-separated, and may not lead out of it.
//
// An error that wraps bench.ErrBoxLost means that the box is gone and every
// later call fails. Any other error leaves the box usable. File errors are
// *fs.PathError around an errno, *EscapeError or *TooLargeError, so that
// errors.Is(err, fs.ErrNotExist) and the like hold.
//
// The calls may come from several goroutines.
type Box interface {
	// Put lays files into the workspace: directories 0755, files 0644 or 0755.
	// It replaces what stands at a path and leaves the rest alone.
	Put(ctx context.Context, tree bench.Tree) error

	// Start starts a process with streams. The process is killed when ctx ends.
	Start(ctx context.Context, c bench.Command) (bench.Process, error)

	// Run starts a process, feeds it Stdin, waits and kills what it left behind.
	// Processes of Start that still run are spared with their children. When ctx
	// ends first, the process is dead before Run returns the context's error.
	Run(ctx context.Context, c bench.Command) (bench.CommandResult, error)

	// ReadFile returns a regular file of at most max bytes.
	ReadFile(ctx context.Context, path string, max int64) ([]byte, error)

	// WriteFile makes a regular file with exactly those permission bits, its
	// parents where they are absent, and replaces what is there. With fs.ModeDir
	// it makes a directory, with fs.ModeSymlink a link whose target is data.
	WriteFile(ctx context.Context, path string, data []byte, mode fs.FileMode) error

	// ListFiles lists what lies below dir, sorted by path, following no link. Of
	// more than max entries it returns max and a last one of Kind "truncated".
	ListFiles(ctx context.Context, dir string, max int) ([]bench.DirEntry, error)

	// Sweep kills every candidate process, those of Start too, and removes what
	// would outlive them: shared memory, message queues, semaphores.
	Sweep(ctx context.Context) error

	// Reset sweeps, empties /w and /tmp and lays the tree, in one round trip.
	Reset(ctx context.Context, tree bench.Tree) error

	// Export sweeps and gives the workspace back.
	Export(ctx context.Context, l bench.ExportLimits) (bench.Export, error)

	Environment() bench.Environment

	// Close ends the box and everything in it. It may be called twice.
	Close() error
}
