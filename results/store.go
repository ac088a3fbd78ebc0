package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// writeDeadline bounds one write, waiting for other writes included.
const writeDeadline = time.Minute

// Options of a Store.
type Options struct {
	Version   string           // our version, written where a database is made
	Now       func() time.Time // nil: time.Now
	MustExist bool             // refuse to make a new database

	maxPages int // tests: size limit in pages of SQLite; 0: none
}

func (o Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

// Store writes one database. It is safe for concurrent use; writes happen one
// after the other.
type Store struct {
	path  string
	now   func() time.Time
	db    *sql.DB
	lock  *fileLock
	blobs *codec
	sync  durability  // of the connection, as last set
	file  os.FileInfo // of the database when it was opened

	closing  sync.Once
	closeErr error
}

// Open opens the database at path for writing and makes it where nothing is
// there, unless o.MustExist: then the error wraps fs.ErrNotExist. It takes the
// lock; while another Store has it, the error is a *LockedError. A refused file
// is left as it is and nothing is made beside it.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	file, exists, err := place(path)
	if err != nil {
		return nil, err
	}
	if !exists && o.MustExist {
		return nil, fmt.Errorf("open the database %s: %w", path, fs.ErrNotExist)
	}
	if err := writable(filepath.Dir(file)); err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if exists {
		if err := writable(file); err != nil {
			return nil, fmt.Errorf("open the database: %w", err)
		}
		if err := inspect(ctx, file); err != nil {
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
	}
	lock, err := acquireLock(file, o.now())
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	s, err := openLocked(ctx, file, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, classify(err)), lock.release())
	}
	s.lock = lock
	return s, nil
}

// inspect refuses a file that verify refuses, and changes nothing.
func inspect(ctx context.Context, file string) error {
	return read(ctx, file, func(ctx context.Context, q querier) error {
		_, err := verify(ctx, q)
		return err
	})
}

func openLocked(ctx context.Context, file string, o Options) (*Store, error) {
	// Another process may have made it between the first look and the lock.
	if _, exists, err := place(file); err != nil {
		return nil, err
	} else if !exists {
		if err := build(ctx, file, o); err != nil {
			return nil, err
		}
	}
	db, err := connect(file, accessWrite, o.maxPages, 1)
	if err != nil {
		return nil, err
	}
	format, err := verify(ctx, db)
	if err == nil && format < Format {
		err = upgrade(ctx, db, o)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	blobs, err := newCodec()
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	now := o.Now
	if now == nil {
		now = time.Now
	}
	return &Store{path: file, now: now, db: db, blobs: blobs, sync: durable, file: info}, nil
}

// inPlace refuses a database that is no longer the file of its name: what is
// written to it would be lost, or found beside another.
func (s *Store) inPlace() error {
	info, err := os.Stat(s.path)
	if err == nil && os.SameFile(info, s.file) {
		return nil
	}
	return fmt.Errorf("%w: %s is not the file that was opened; what was written before is in that file, if it still has a name", ErrMoved, s.path)
}

// Close ends the writing and gives up the lock. Later calls return the same.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.closeErr = classify(errors.Join(s.db.Close(), s.lock.release()))
		s.blobs.close()
	})
	return s.closeErr
}

// durability says when a write must have reached the disk. Either survives a kill of
// the process; only against a loss of power do they differ.
type durability string

const (
	// durable waits for the disk, also for every write before this one.
	durable durability = "FULL"
	// passing does not wait, so that a running attempt need not: what a loss of
	// power can take are rows of attempts in flight.
	passing durability = "NORMAL"
)

// write runs fn in one transaction: all of it is kept, or nothing.
func (s *Store) write(ctx context.Context, d durability, what string, fn func(ctx context.Context, tx *sql.Tx) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, writeDeadline,
		fmt.Errorf("not written within the limit of %s: %w", writeDeadline, context.DeadlineExceeded))
	defer cancel()
	if err := s.transact(ctx, d, fn); err != nil {
		return fmt.Errorf("%s in %s: %w", what, s.path, classify(interrupted(ctx, err)))
	}
	return s.inPlace()
}

// transact uses the one connection; whoever has it is alone, so sync needs no lock.
func (s *Store) transact(ctx context.Context, d durability, fn func(ctx context.Context, tx *sql.Tx) error) (err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("wait for the connection: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if s.sync != d {
		if _, err := conn.ExecContext(ctx, "PRAGMA synchronous = "+string(d)); err != nil {
			return fmt.Errorf("set the durability: %w", err)
		}
		s.sync = d
	}
	return transact(ctx, conn, fn)
}

// beginner is a pool or a connection.
type beginner interface {
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

func transact(ctx context.Context, db beginner, fn func(ctx context.Context, tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := fn(ctx, tx); err != nil {
		return errors.Join(err, rollback(tx))
	}
	if err := tx.Commit(); err != nil {
		return errors.Join(fmt.Errorf("commit: %w", err), rollback(tx))
	}
	return nil
}

func rollback(tx *sql.Tx) error {
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return fmt.Errorf("roll back: %w", err)
	}
	return nil
}
