package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// build makes a new database under another name and moves it into place when it
// is whole: a process killed meanwhile leaves no file of the real name. The
// caller has the lock, so a file of the other name is a leftover.
func build(ctx context.Context, file string, o Options) error {
	draft := file + ".new"
	if err := dropDraft(draft); err != nil {
		return err
	}
	if err := fill(ctx, draft, o); err != nil {
		return errors.Join(fmt.Errorf("make the database: %w", err), dropDraft(draft))
	}
	if err := os.Rename(draft, file); err != nil {
		return errors.Join(fmt.Errorf("make the database: %w", err), dropDraft(draft))
	}
	return syncDir(filepath.Dir(file))
}

func fill(ctx context.Context, draft string, o Options) (err error) {
	db, err := connect(draft, accessBuild, o.maxPages, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return upgrade(ctx, db, o)
}

// upgrade brings a database to Format and notes who did it and when.
func upgrade(ctx context.Context, db *sql.DB, o Options) error {
	if err := migrate(ctx, db); err != nil {
		return err
	}
	return transact(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO formats (format, assay, since) VALUES (?, ?, ?)",
			Format, o.Version, timeText(o.now()))
		return err
	})
}

func dropDraft(draft string) error {
	for _, name := range []string{draft, draft + "-journal"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove an unfinished database: %w", err)
		}
	}
	return nil
}

func syncDir(dir string) (err error) {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync the folder: %w", err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync the folder: %w", err)
	}
	return nil
}
