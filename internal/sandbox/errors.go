package sandbox

import (
	"fmt"

	"assay/internal/bench"
)

// LostError says that a box is gone or can no longer be trusted. It wraps
// bench.ErrBoxLost.
type LostError struct {
	Why        string
	Diagnostic string // last words of the box on stderr, bounded; may be empty
	Err        error  // cause, may be nil
}

func (e *LostError) Error() string {
	s := bench.ErrBoxLost.Error() + ": " + e.Why
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Diagnostic != "" {
		s += fmt.Sprintf(" (it said %q)", e.Diagnostic)
	}
	return s
}

// Unwrap gives bench.ErrBoxLost and the cause.
func (e *LostError) Unwrap() []error {
	if e.Err == nil {
		return []error{bench.ErrBoxLost}
	}
	return []error{bench.ErrBoxLost, e.Err}
}

// TooLargeError says that a file is larger than the caller allows.
type TooLargeError struct {
	Path string
	Size int64 // bytes
	Max  int64 // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("file %q has %d bytes; at most %d are read", e.Path, e.Size, e.Max)
}

// EscapeError says that a path leads out of the workspace, mostly by a link.
type EscapeError struct {
	Path string
}

func (e *EscapeError) Error() string {
	return fmt.Sprintf("path %q leads out of the workspace", e.Path)
}

// NotRegularError says that a path that must be a regular file is something
// else.
type NotRegularError struct {
	Path string
	Kind string // "dir", "symlink", "other"
}

func (e *NotRegularError) Error() string {
	return fmt.Sprintf("%q is not a regular file but %s", e.Path, e.Kind)
}

// UnavailableError says that a kind of box cannot work on this machine, and
// what to do about it.
type UnavailableError struct {
	Problem string
	Cure    string // a command or setting, for people
}

func (e *UnavailableError) Error() string { return e.Problem + "; " + e.Cure }
