package main

import (
	"errors"
	"fmt"

	"assay/internal/config"
	"assay/internal/engine"
	"assay/internal/runner"
	"assay/results"
)

// Exit codes of every verb.
const (
	exitDone        = 0
	exitIncomplete  = 1 // done, and something that was asked for failed
	exitUsage       = 2 // usage or study file
	exitOurs        = 3 // our side failed: engine, sandbox, disk
	exitDatabase    = 4 // the database refuses
	exitInterrupted = 130
)

const exitHelp = `
Exit status: 0 done; 1 done, and something asked for failed (a planned cell is
invalid); 2 usage or study file; 3 our side failed (engine, sandbox, disk);
4 the database refuses (newer format, locked, read-only, altered, moved);
130 interrupted.`

// usageError is a mistake in the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// incompleteError says that the verb was done and something that it was asked
// for failed.
type incompleteError struct{ msg string }

func (e incompleteError) Error() string { return e.msg }

// oursError is a fault of our side, whatever it wraps.
type oursError struct{ err error }

func (e oursError) Error() string { return e.err.Error() }

// exitCode is the one place where an error becomes a status.
func exitCode(err error) int {
	var (
		usage      usageError
		faults     config.Faults
		arm        *engine.ArmError
		incomplete incompleteError
		ours       oursError
	)
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &ours):
		return exitOurs
	case errors.As(err, &usage), errors.As(err, &faults), errors.As(err, &arm):
		return exitUsage
	case errors.As(err, &incomplete):
		return exitIncomplete
	case errors.Is(err, runner.ErrInterrupted):
		return exitInterrupted
	case errors.Is(err, results.ErrLocked), errors.Is(err, results.ErrNewerFormat), errors.Is(err, results.ErrReadOnly),
		errors.Is(err, results.ErrNotADatabase), errors.Is(err, results.ErrAltered), errors.Is(err, results.ErrMoved):
		return exitDatabase
	}
	return exitOurs
}
