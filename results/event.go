package results

import (
	"context"
	"database/sql"
	"errors"

	"assay/internal/bench"
)

// AddEvent writes one event; cohort 0 is an event outside a cohort. Its Row is not
// written: it is computed from rows that are there.
func (s *Store) AddEvent(ctx context.Context, cohort int64, e bench.Event) error {
	var arm, task *string
	var seed, repeat *int
	if c := e.Cell; c != nil {
		arm, task, seed, repeat = &c.Arm, &c.Task, &c.Seed, &c.Repeat
	}
	return s.write(ctx, passing, "add an event", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO events (cohort, kind, at, arm, task, seed, repeat, attempt, done, planned, message)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, orNull(cohort), string(e.Kind), timeText(e.Time), arm, task, seed, repeat,
			orNull(e.Attempt), e.Done, e.Planned, orNull(e.Message))
		return err
	})
}

// Events reads the events of a cohort in the order in which they were written,
// without their Row.
func (r *Reader) Events(ctx context.Context, cohort int64) ([]bench.Event, error) {
	var out []bench.Event
	err := r.view(ctx, "read the events", func(ctx context.Context, q querier) (err error) {
		out = nil
		rows, err := q.QueryContext(ctx, `SELECT kind, at, arm, task, seed, repeat, attempt, done, planned, message
			FROM events WHERE cohort = ? ORDER BY id`, cohort)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			var e bench.Event
			var at sql.NullString
			var arm, task, message *string
			var seed, repeat *int
			var attempt *int64
			if err := rows.Scan(&e.Kind, &at, &arm, &task, &seed, &repeat, &attempt, &e.Done, &e.Planned, &message); err != nil {
				return err
			}
			if e.Time, err = parseTime(at); err != nil {
				return err
			}
			if arm != nil {
				e.Cell = &bench.Cell{Arm: *arm, Task: orZero(task), Seed: orZero(seed), Repeat: orZero(repeat)}
			}
			e.Attempt, e.Message = orZero(attempt), orZero(message)
			out = append(out, e)
		}
		return rows.Err()
	})
	return out, err
}
