package results

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// Format is the format of the databases that this package writes.
const Format = 1

// applicationID marks a SQLite file as ours ("assy").
const applicationID = 0x61737379

// schemaDigest is the digest of tables, triggers and unique indexes of Format.
const schemaDigest = "e84a415908722c25ad6bc35c4c645ae3d87be67c8347074f71a3a68df2fa354b"

//go:embed migrations/*.sql
var migrationFiles embed.FS

// querier is what a read needs: a connection pool, a connection or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// migrate brings a database to Format.
func migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("bring the database to format %d: %w", Format, err)
	}
	return nil
}

// verify refuses what is no database of ours, has a newer format, or lacks a
// table or trigger. It reads only and returns the format.
func verify(ctx context.Context, q querier) (int, error) {
	var app, format int
	if err := q.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return 0, classify(err)
	}
	if app != applicationID {
		return 0, fmt.Errorf("%w: a SQLite file of another program, or an empty file", ErrNotADatabase)
	}
	if err := q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&format); err != nil {
		return 0, classify(err)
	}
	if format > Format {
		return format, fmt.Errorf("%w: format %d, known up to %d: use the assay that wrote it or a newer one",
			ErrNewerFormat, format, Format)
	}
	if format < Format {
		return format, nil
	}
	got, err := digestSchema(ctx, q)
	if err != nil {
		return format, classify(err)
	}
	if got != schemaDigest {
		return format, fmt.Errorf("%w: its tables or triggers are not those of format %d", ErrAltered, Format)
	}
	return format, nil
}

// digestSchema is sha256 over the tables, triggers and unique indexes. Views and
// further indexes of a user's own do not count.
func digestSchema(ctx context.Context, q querier) (digest string, err error) {
	rows, err := q.QueryContext(ctx, `SELECT type, name, sql FROM sqlite_master
		WHERE (type IN ('table', 'trigger') OR (type = 'index' AND sql LIKE 'CREATE UNIQUE%'))
		AND name NOT LIKE 'sqlite\_%' ESCAPE '\' AND name NOT LIKE 'goose\_%' ESCAPE '\'
		ORDER BY type, name`)
	if err != nil {
		return "", fmt.Errorf("read the schema: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	h := sha256.New()
	for rows.Next() {
		var kind, name, text string
		if err := rows.Scan(&kind, &name, &text); err != nil {
			return "", fmt.Errorf("read the schema: %w", err)
		}
		fmt.Fprintf(h, "%s %s %q\n", kind, name, text)
	}
	if err := rows.Err(); err != nil {
		return "", fmt.Errorf("read the schema: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
