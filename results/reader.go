package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Reader reads one database, also while a Store writes it. It holds no
// connection between calls and makes or changes no file, unless a writer runs or
// died: then SQLite keeps the index of its log (-shm) beside the file.
// It is safe for concurrent use.
type Reader struct {
	path  string
	blobs *codec
}

// OpenReader checks the database at path and returns a Reader of it. A missing
// file is an error that wraps fs.ErrNotExist.
func OpenReader(ctx context.Context, path string) (*Reader, error) {
	file, exists, err := place(path)
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, fmt.Errorf("read the database %s: %w", path, fs.ErrNotExist)
	}
	if err := inspect(ctx, file); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	blobs, err := newCodec()
	if err != nil {
		return nil, err
	}
	return &Reader{path: file, blobs: blobs}, nil
}

// Close frees what the Reader holds.
func (r *Reader) Close() error {
	r.blobs.close()
	return nil
}

func (r *Reader) view(ctx context.Context, what string, fn func(ctx context.Context, q querier) error) error {
	if err := read(ctx, r.path, fn); err != nil {
		return fmt.Errorf("%s of %s: %w", what, r.path, err)
	}
	return nil
}

// read runs fn over one consistent state of the file. fn may run more than once
// and must start afresh each time.
//
// Where no log lies beside the file, nobody writes it and it is opened as
// immutable, which works on a read-only medium and makes no files. A writer that
// comes meanwhile breaks that promise; it shows in the log or in the file's time
// and size, and fn runs again.
func read(ctx context.Context, file string, fn func(ctx context.Context, q querier) error) error {
	const tries = 3
	for range tries {
		before, err := look(file)
		if err != nil {
			return err
		}
		if before.log {
			break
		}
		err = readOnce(ctx, file, accessImmutable, fn)
		after, lookErr := look(file)
		if lookErr != nil {
			return lookErr
		}
		if after == before {
			return err
		}
	}
	return readOnce(ctx, file, accessRead, fn)
}

// look is what tells whether a database was written.
type fileState struct {
	size int64
	time time.Time
	log  bool // a log with content lies beside it
}

func look(file string) (fileState, error) {
	info, err := os.Stat(file)
	if err != nil {
		return fileState{}, fmt.Errorf("look at the database: %w", err)
	}
	s := fileState{size: info.Size(), time: info.ModTime()}
	switch wal, err := os.Stat(file + "-wal"); {
	case err == nil:
		s.log = wal.Size() > 0
	case !errors.Is(err, fs.ErrNotExist):
		return fileState{}, fmt.Errorf("look at the log of the database: %w", err)
	}
	return s, nil
}

func readOnce(ctx context.Context, file string, a access, fn func(ctx context.Context, q querier) error) (err error) {
	db, err := connect(file, a, 0, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return classify(interrupted(ctx, err))
	}
	err = fn(ctx, tx)
	return classify(interrupted(ctx, errors.Join(err, rollback(tx))))
}
