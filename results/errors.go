package results

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// Why a database is refused, or a write failed. Every error of this package that
// has one of these causes wraps it.
var (
	ErrLocked       = errors.New("another process writes this database")
	ErrNewerFormat  = errors.New("the database has a newer format than this assay knows")
	ErrReadOnly     = errors.New("the database cannot be written")
	ErrNotADatabase = errors.New("not an assay database")
	ErrAltered      = errors.New("the database was altered or damaged")
	ErrMoved        = errors.New("the database was moved, replaced or deleted while it was written")
	ErrDiskFull     = errors.New("no space left for the database")
)

// What the record refuses because of what it already holds.
var (
	ErrCounted          = errors.New("the cell already has an attempt that counts")
	ErrEnded            = errors.New("the attempt has already ended")
	ErrNotEnded         = errors.New("the attempt has not ended")
	ErrUnknownAttempt   = errors.New("no such attempt")
	ErrNotPlanned       = errors.New("the cohort does not plan this cell")
	ErrUnknownCohort    = errors.New("no such cohort")
	ErrUnknownCandidate = errors.New("no such candidate")
)

// LockedError says who holds the lock of a database.
type LockedError struct {
	Path   string
	Holder string // "process 4711 on rig1 since 2026-01-02T15:04:05Z"; empty: unknown
}

func (e *LockedError) Error() string {
	who := e.Holder
	if who == "" {
		who = "another process"
	}
	return fmt.Sprintf("%s is being written by %s: wait for it or stop it", e.Path, who)
}

// Is makes a LockedError an ErrLocked.
func (e *LockedError) Is(target error) bool { return target == ErrLocked }

// classify puts the sentinel of this package beside an error of SQLite or of the
// operating system.
func classify(err error) error {
	if err == nil {
		return nil
	}
	if kind := kindOf(err); kind != nil && !errors.Is(err, kind) {
		return fmt.Errorf("%w: %w", kind, err)
	}
	return err
}

func kindOf(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return ErrDiskFull
	}
	if errors.Is(err, syscall.EROFS) {
		return ErrReadOnly
	}
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return nil
	}
	switch se.Code() {
	case lib.SQLITE_IOERR_SHMSIZE: // the index of the log could not grow
		return ErrDiskFull
	}
	switch se.Code() & 0xff {
	case lib.SQLITE_FULL:
		return ErrDiskFull
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return ErrLocked
	case lib.SQLITE_READONLY:
		return ErrReadOnly
	case lib.SQLITE_CORRUPT:
		return ErrAltered
	case lib.SQLITE_NOTADB:
		return ErrNotADatabase
	}
	return nil
}

// interrupted prefers the reason of a context over what SQLite made of it.
func interrupted(ctx context.Context, err error) error {
	var se *sqlite.Error
	if err != nil && ctx.Err() != nil && errors.As(err, &se) && se.Code()&0xff == lib.SQLITE_INTERRUPT {
		return context.Cause(ctx)
	}
	return err
}

// oneLine keeps a text that somebody else wrote out of the shape of a message.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
