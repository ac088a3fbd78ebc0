package results

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"assay/internal/bench"
)

// AddGrading writes one grading of an ended attempt. Its candidate must be the one
// that the attempt left ("" where it left none). The error wraps ErrNotEnded or
// ErrUnknownAttempt where the attempt is not that far.
func (s *Store) AddGrading(ctx context.Context, attempt int64, g bench.Grading) error {
	row, err := s.gradingColumns(g)
	if err != nil {
		return fmt.Errorf("pack a grading of attempt %d: %w", attempt, err)
	}
	return s.write(ctx, durable, fmt.Sprintf("add a grading to attempt %d", attempt), func(ctx context.Context, tx *sql.Tx) error {
		if err := leftCandidate(ctx, tx, attempt, g.Candidate); err != nil {
			return err
		}
		frames, err := putBlob(ctx, tx, row.frames)
		if err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO gradings (attempt, candidate, task, fixture_version, fixture_digest,
			environment, judge, limits, complete, fault, flags, secret, frames, started_at, elapsed_ns)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			attempt, orNull(g.Candidate), g.Task, g.FixtureVersion, g.FixtureDigest, row.environment, row.judge, row.limits,
			g.Complete, orNull(g.Fault), row.flags, g.Secret, frames, timeText(g.Started), g.Elapsed.Nanoseconds())
		if err != nil {
			return err
		}
		id, err := res.LastInsertId()
		if err != nil {
			return err
		}
		return insertChecks(ctx, tx, id, g.Checks)
	})
}

type gradingRow struct {
	environment, judge, limits string
	flags                      *string
	frames                     *packed
}

func (s *Store) gradingColumns(g bench.Grading) (row gradingRow, err error) {
	if row.environment, err = document(environmentToDoc(g.Environment)); err != nil {
		return row, err
	}
	if row.judge, err = document(environmentToDoc(g.Judge)); err != nil {
		return row, err
	}
	limits := fixtureLimitsDoc{Process: processLimitsDoc(g.Limits.Process), JudgeSeconds: g.Limits.JudgeSeconds}
	if row.limits, err = document(limits); err != nil {
		return row, err
	}
	if row.flags, err = list(g.Flags); err != nil {
		return row, err
	}
	frames, err := encodeFrames(g.Frames)
	if err != nil {
		return row, err
	}
	row.frames, err = s.blobs.pack(frames)
	return row, err
}

func leftCandidate(ctx context.Context, tx *sql.Tx, attempt int64, candidate string) error {
	var known bool
	var left *string
	err := tx.QueryRowContext(ctx, `SELECT e.attempt IS NOT NULL, e.candidate
		FROM attempts a LEFT JOIN attempt_ends e ON e.attempt = a.id WHERE a.id = ?`, attempt).Scan(&known, &left)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("attempt %d: %w", attempt, ErrUnknownAttempt)
	case err != nil:
		return err
	case !known:
		return fmt.Errorf("attempt %d: %w", attempt, ErrNotEnded)
	case orZero(left) != candidate:
		return fmt.Errorf("the grading judged candidate %q, the attempt left %q", candidate, orZero(left))
	}
	return nil
}

func insertChecks(ctx context.Context, tx *sql.Tx, grading int64, checks []bench.CheckResult) error {
	for i, c := range checks {
		flags, err := list(c.Flags)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO checks (grading, position, id, status, message, flags, elapsed_ns)
			VALUES (?, ?, ?, ?, ?, ?, ?)`, grading, i, c.ID, string(c.Status), orNull(c.Message), flags, c.Elapsed.Nanoseconds())
		if err != nil {
			return fmt.Errorf("check %q: %w", c.ID, err)
		}
	}
	return nil
}

// encodeFrames writes one JSON object a line; no frames give nil.
func encodeFrames(frames []bench.JudgeFrame) ([]byte, error) {
	if len(frames) == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, f := range frames {
		if err := enc.Encode(frameDoc(f)); err != nil {
			return nil, fmt.Errorf("encode judge frame %d: %w", f.Seq, err)
		}
	}
	return b.Bytes(), nil
}

func decodeFrames(data []byte) ([]bench.JudgeFrame, error) {
	var out []bench.JudgeFrame
	dec := json.NewDecoder(bytes.NewReader(data))
	for dec.More() {
		var f frameDoc
		if err := dec.Decode(&f); err != nil {
			return nil, fmt.Errorf("%w: judge frame %d: %w", ErrAltered, len(out), err)
		}
		out = append(out, bench.JudgeFrame(f))
	}
	return out, nil
}
