package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"assay/internal/bench"
)

// BeginAttempt writes the first row of an attempt at a planned cell. The error
// wraps ErrNotPlanned if the cohort does not plan the cell's key, ErrCounted if an
// attempt at it counts already.
func (s *Store) BeginAttempt(ctx context.Context, cohort int64, cell bench.PlannedCell, start bench.AttemptStart) (attempt int64, err error) {
	observed, err := document(observedDoc(start.Observed))
	if err != nil {
		return 0, err
	}
	environment, err := document(environmentToDoc(start.Environment))
	if err != nil {
		return 0, err
	}
	err = s.write(ctx, durable, "begin an attempt at "+cell.String(), func(ctx context.Context, tx *sql.Tx) error {
		id, err := plannedCell(ctx, tx, cohort, cell.Key)
		if err != nil {
			return err
		}
		if err := refuseCounted(ctx, tx, id); err != nil {
			return err
		}
		var number int
		err = tx.QueryRowContext(ctx, "SELECT coalesce(max(number), 0) + 1 FROM attempts WHERE cell = ?", id).Scan(&number)
		if err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO attempts (cohort, cell, number, worker, observed, environment, simulated, started_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, cohort, id, number, orNull(start.Worker), observed, environment,
			start.Observed.Simulated, timeText(start.Start))
		if err != nil {
			return err
		}
		attempt, err = res.LastInsertId()
		return err
	})
	if err != nil {
		return 0, err
	}
	return attempt, nil
}

func plannedCell(ctx context.Context, tx *sql.Tx, cohort int64, key string) (int64, error) {
	var id int64
	err := tx.QueryRowContext(ctx, `SELECT c.id FROM cells c JOIN cohort_cells cc ON cc.cell = c.id
		WHERE c.key = ? AND cc.cohort = ?`, key, cohort).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("cohort %d, key %q: %w", cohort, key, ErrNotPlanned)
	}
	return id, err
}

func refuseCounted(ctx context.Context, tx *sql.Tx, cell int64) error {
	var other int64
	err := tx.QueryRowContext(ctx, "SELECT attempt FROM attempt_ends WHERE cell = ? AND counts = 1", cell).Scan(&other)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("attempt %d: %w", other, ErrCounted)
}

// running returns the cell of an attempt that has begun and not ended.
func running(ctx context.Context, tx *sql.Tx, attempt int64) (cell int64, err error) {
	var ended bool
	err = tx.QueryRowContext(ctx, `SELECT a.cell, e.attempt IS NOT NULL
		FROM attempts a LEFT JOIN attempt_ends e ON e.attempt = a.id WHERE a.id = ?`, attempt).Scan(&cell, &ended)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, fmt.Errorf("attempt %d: %w", attempt, ErrUnknownAttempt)
	case err != nil:
		return 0, err
	case ended:
		return 0, fmt.Errorf("attempt %d: %w", attempt, ErrEnded)
	}
	return cell, nil
}

// EndAttempt writes the last row of an attempt with its candidate, all or nothing.
// The attempt counts unless its stop reason is an invalid one. The error wraps
// ErrCounted if another attempt at the cell counts already: then nothing is
// written and the attempt stays one that never ended.
func (s *Store) EndAttempt(ctx context.Context, attempt int64, end bench.AttemptEnd) error {
	stop := end.Result.Stop
	if !slices.Contains(bench.StopReasons(), stop.Reason) {
		return fmt.Errorf("end attempt %d: %q is no stop reason", attempt, stop.Reason)
	}
	docs, err := endDocuments(end)
	if err != nil {
		return fmt.Errorf("end attempt %d: %w", attempt, err)
	}
	frozen, err := s.freeze(end.Candidate)
	if err != nil {
		return fmt.Errorf("end attempt %d: %w", attempt, err)
	}
	var candidate, rejected *string
	if c := end.Candidate; c != nil {
		candidate, rejected = &c.ID, orNull(c.Rejected)
	}
	return s.write(ctx, durable, fmt.Sprintf("end attempt %d", attempt), func(ctx context.Context, tx *sql.Tx) error {
		cell, err := running(ctx, tx, attempt)
		if err != nil {
			return err
		}
		counts := !stop.Reason.Invalid()
		if counts {
			if err := refuseCounted(ctx, tx, cell); err != nil {
				return err
			}
		}
		if err := putCandidate(ctx, tx, frozen); err != nil {
			return err
		}
		r := end.Result
		_, err = tx.ExecContext(ctx, `INSERT INTO attempt_ends (attempt, cell, counts, stop_reason, stop_message, limit_name,
			limit_value, limit_reached, task_ns, turns, reminders, retries, candidate, rejected, skipped,
			protected_touched, bad_calls, engine_idle, ended_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			attempt, cell, counts, string(stop.Reason), orNull(stop.Message), orNull(stop.Limit), orNull(stop.Value),
			orNull(stop.Reached), r.TaskTime.Nanoseconds(), r.Turns, r.Reminders, r.Retries, candidate, rejected,
			docs.skipped, docs.touched, docs.badCalls, docs.idle, timeText(end.End))
		return err
	})
}

type endDocs struct{ skipped, touched, badCalls, idle *string }

func endDocuments(end bench.AttemptEnd) (d endDocs, err error) {
	if end.Candidate != nil {
		d.skipped, err = list(each(end.Candidate.Skipped, func(s bench.Skipped) skippedDoc { return skippedDoc(s) }))
		if err != nil {
			return d, err
		}
	}
	if d.touched, err = list(end.ProtectedTouched); err != nil {
		return d, err
	}
	if end.Result.BadCalls != nil {
		text, err := document(end.Result.BadCalls)
		if err != nil {
			return d, err
		}
		d.badCalls = &text
	}
	d.idle, err = list(each(end.Result.EngineIdle, func(g bench.IdleGap) idleGapDoc { return idleGapDoc(g) }))
	return d, err
}
