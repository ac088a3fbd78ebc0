package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"assay/internal/bench"
)

// AddStep writes one step of the transcript of a running attempt.
func (s *Store) AddStep(ctx context.Context, attempt int64, st bench.Step) error {
	arguments, err := s.blobs.packText(st.Arguments)
	if err != nil {
		return fmt.Errorf("pack step %d of attempt %d: %w", st.Index, attempt, err)
	}
	answer, err := s.blobs.packText(st.Answer)
	if err != nil {
		return fmt.Errorf("pack step %d of attempt %d: %w", st.Index, attempt, err)
	}
	return s.write(ctx, passing, fmt.Sprintf("add step %d to attempt %d", st.Index, attempt), func(ctx context.Context, tx *sql.Tx) error {
		if _, err := running(ctx, tx, attempt); err != nil {
			return err
		}
		argumentsID, err := putBlob(ctx, tx, arguments)
		if err != nil {
			return err
		}
		answerID, err := putBlob(ctx, tx, answer)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO steps (attempt, step, turn, kind, tool, call_id, arguments, answer, bad, ok,
			started_at, elapsed_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			attempt, st.Index, st.Turn, string(st.Kind), orNull(st.Tool), orNull(st.CallID), argumentsID, answerID,
			orNull(string(st.Bad)), st.OK, timeText(st.Start), st.Elapsed.Nanoseconds())
		return err
	})
}

// Steps reads the transcript of an attempt.
func (r *Reader) Steps(ctx context.Context, attempt int64) ([]bench.Step, error) {
	var out []bench.Step
	err := r.view(ctx, "read the transcript", func(ctx context.Context, q querier) error {
		steps, blobs, err := stepRows(ctx, q, attempt)
		if err != nil {
			return err
		}
		for i := range steps {
			arguments, err := r.blobs.getBlob(ctx, q, blobs[i].arguments)
			if err != nil {
				return err
			}
			answer, err := r.blobs.getBlob(ctx, q, blobs[i].answer)
			if err != nil {
				return err
			}
			steps[i].Arguments, steps[i].Answer = string(arguments), string(answer)
		}
		out = steps
		return nil
	})
	return out, err
}

type stepBlobs struct{ arguments, answer *int64 }

func stepRows(ctx context.Context, q querier, attempt int64) (steps []bench.Step, blobs []stepBlobs, err error) {
	rows, err := q.QueryContext(ctx, `SELECT step, turn, kind, tool, call_id, arguments, answer, bad, ok, started_at, elapsed_ns
		FROM steps WHERE attempt = ? ORDER BY step`, attempt)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var st bench.Step
		var b stepBlobs
		var tool, call, bad *string
		var start sql.NullString
		var elapsed int64
		if err := rows.Scan(&st.Index, &st.Turn, &st.Kind, &tool, &call, &b.arguments, &b.answer, &bad, &st.OK, &start, &elapsed); err != nil {
			return nil, nil, err
		}
		st.Tool, st.CallID, st.Bad = orZero(tool), orZero(call), bench.BadCall(orZero(bad))
		st.Elapsed = time.Duration(elapsed)
		if st.Start, err = parseTime(start); err != nil {
			return nil, nil, err
		}
		steps, blobs = append(steps, st), append(blobs, b)
	}
	return steps, blobs, rows.Err()
}
