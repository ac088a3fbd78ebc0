package results

import (
	"context"
	"database/sql"
	"fmt"

	"assay/internal/bench"
)

// Only gradings by the fixture that the cohort planned for the cell are looked at:
// another cohort that shares the cell may judge it by another version.
const stateQuery = `
SELECT c.key, cc.arm, c.task, c.seed, c.repeat, c.variant, c.task_digest, cc.fixture_version, cc.fixture_digest,
	(SELECT count(*) FROM attempts a WHERE a.cell = c.id),
	(SELECT count(*) FROM attempts a JOIN attempt_ends f ON f.attempt = a.id
		WHERE a.cell = c.id AND f.counts = 0 AND f.stop_reason <> 'interrupted'),
	(SELECT count(*) FROM attempts a WHERE a.cell = c.id AND NOT EXISTS (SELECT 1 FROM attempt_ends f WHERE f.attempt = a.id)),
	coalesce(e.attempt, 0), coalesce(e.candidate, ''), coalesce(e.rejected, ''),
	EXISTS (SELECT 1 FROM gradings g WHERE g.attempt = e.attempt AND g.fault IS NULL AND g.fixture_digest = cc.fixture_digest),
	(SELECT count(*) FROM gradings g WHERE g.attempt = e.attempt AND g.fault IS NOT NULL AND g.fixture_digest = cc.fixture_digest)
FROM cohort_cells cc
JOIN cells c ON c.id = cc.cell
LEFT JOIN attempt_ends e ON e.cell = c.id AND e.counts = 1
WHERE cc.cohort = ?
ORDER BY cc.position`

// CellStates says how far every cell of a cohort is, in the order of the plan.
// The error wraps ErrUnknownCohort.
func (s *Store) CellStates(ctx context.Context, cohort int64) ([]bench.CellState, error) {
	return statesOf(ctx, s, cohort)
}

// CellStates says how far the cells are, as Store.CellStates does.
func (r *Reader) CellStates(ctx context.Context, cohort int64) ([]bench.CellState, error) {
	return statesOf(ctx, r, cohort)
}

func statesOf(ctx context.Context, v viewer, cohort int64) ([]bench.CellState, error) {
	return viewed(ctx, v, "read the cells", func(ctx context.Context, q querier) ([]bench.CellState, error) {
		return cellStates(ctx, q, cohort)
	})
}

// knownCohort returns an error that wraps ErrUnknownCohort if there is none.
func knownCohort(ctx context.Context, q querier, cohort int64) error {
	var known bool
	if err := q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM cohorts WHERE id = ?)", cohort).Scan(&known); err != nil {
		return err
	}
	if !known {
		return fmt.Errorf("cohort %d: %w", cohort, ErrUnknownCohort)
	}
	return nil
}

func cellStates(ctx context.Context, q querier, cohort int64) (out []bench.CellState, err error) {
	if err := knownCohort(ctx, q, cohort); err != nil {
		return nil, err
	}
	err = collect(ctx, q, stateQuery, []any{cohort}, func(rows *sql.Rows) error {
		var st bench.CellState
		c := &st.Cell
		err := rows.Scan(&c.Key, &c.Arm, &c.Task, &c.Seed, &c.Repeat, &c.Variant, &c.TaskDigest, &c.FixtureVersion,
			&c.FixtureDigest, &st.Tries, &st.Failed, &st.Unended, &st.Counting, &st.Candidate, &st.Rejected, &st.Graded, &st.Faults)
		out = append(out, st)
		return err
	})
	return out, err
}
