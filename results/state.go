package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"assay/internal/bench"
)

// Invalid tries are those that ended invalid or never ended. A grading counts for
// a cell if it judged by the fixture that the cohort planned for it.
const stateQuery = `
SELECT c.key, cc.arm, c.task, c.seed, c.repeat, c.variant, c.task_digest, cc.fixture_version, cc.fixture_digest,
	(SELECT count(*) FROM attempts a WHERE a.cell = c.id),
	coalesce(e.attempt, 0), coalesce(e.candidate, ''),
	EXISTS (SELECT 1 FROM gradings g WHERE g.attempt = e.attempt AND g.fault IS NULL AND g.fixture_digest = cc.fixture_digest),
	(SELECT count(*) FROM gradings g WHERE g.attempt = e.attempt AND g.fault IS NOT NULL)
FROM cohort_cells cc
JOIN cells c ON c.id = cc.cell
LEFT JOIN attempt_ends e ON e.cell = c.id AND e.counts = 1
WHERE cc.cohort = ?
ORDER BY cc.position`

// CellStates says how far every cell of a cohort is, in the order of the plan.
func (s *Store) CellStates(ctx context.Context, cohort int64) ([]bench.CellState, error) {
	var out []bench.CellState
	err := s.view(ctx, "read the cells", func(ctx context.Context, q querier) error {
		var err error
		out, err = cellStates(ctx, q, cohort)
		return err
	})
	return out, err
}

// CellStates says how far every cell of a cohort is, in the order of the plan.
func (r *Reader) CellStates(ctx context.Context, cohort int64) ([]bench.CellState, error) {
	var out []bench.CellState
	err := r.view(ctx, "read the cells", func(ctx context.Context, q querier) error {
		var err error
		out, err = cellStates(ctx, q, cohort)
		return err
	})
	return out, err
}

func cellStates(ctx context.Context, q querier, cohort int64) (out []bench.CellState, err error) {
	var known bool
	if err := q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM cohorts WHERE id = ?)", cohort).Scan(&known); err != nil {
		return nil, err
	}
	if !known {
		return nil, fmt.Errorf("cohort %d: %w", cohort, ErrUnknownCohort)
	}
	rows, err := q.QueryContext(ctx, stateQuery, cohort)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var st bench.CellState
		c := &st.Cell
		err := rows.Scan(&c.Key, &c.Arm, &c.Task, &c.Seed, &c.Repeat, &c.Variant, &c.TaskDigest, &c.FixtureVersion,
			&c.FixtureDigest, &st.Tries, &st.Counting, &st.Candidate, &st.Graded, &st.Faults)
		if err != nil {
			return nil, err
		}
		st.Invalid = st.Tries
		if st.Counting != 0 {
			st.Invalid--
		}
		out = append(out, st)
	}
	return out, rows.Err()
}

// view runs fn over one consistent state, on the connection of the writer.
func (s *Store) view(ctx context.Context, what string, fn func(ctx context.Context, q querier) error) error {
	return s.write(ctx, passing, what, func(ctx context.Context, tx *sql.Tx) error { return fn(ctx, tx) })
}
