package results

import (
	"context"
	"database/sql"
	"errors"

	"assay/internal/bench"
)

// Cohorts reads every cohort, by id, with all attempts at its cells. Cohorts that
// share cells show the same attempts. Sums cover the responses of an attempt. Only
// gradings by the fixture that the cohort planned are used: of an attempt the
// latest without fault, else the latest; its Checks are those that did not pass,
// Passed and Total cover all.
//
// An attempt without an end is shown with Ended false and no stop reason: its
// runner died in it, or runs it now.
func (r *Reader) Cohorts(ctx context.Context) ([]bench.CohortView, error) {
	var out []bench.CohortView
	err := r.view(ctx, "read the cohorts", func(ctx context.Context, q querier) error {
		views, err := cohortRows(ctx, q)
		if err != nil {
			return err
		}
		sums, err := responseSums(ctx, q)
		if err != nil {
			return err
		}
		for i := range views {
			if err := fillCohort(ctx, q, &views[i], sums); err != nil {
				return err
			}
		}
		out = views
		return nil
	})
	return out, err
}

func fillCohort(ctx context.Context, q querier, v *bench.CohortView, sums map[int64]responseSum) error {
	var err error
	if v.Arms, err = armRows(ctx, q, v.ID); err != nil {
		return err
	}
	if v.Cells, err = cellRows(ctx, q, v.ID); err != nil {
		return err
	}
	observed, err := lastObserved(ctx, q, v.ID)
	if err != nil {
		return err
	}
	for i := range v.Arms {
		v.Arms[i].Observed = observed[v.Arms[i].Arm.Name]
	}
	if v.Attempts, err = attemptRows(ctx, q, v.ID, sums); err != nil {
		return err
	}
	return fillGradings(ctx, q, v)
}

// collect runs a query and scans each row.
func collect(ctx context.Context, q querier, query string, args []any, scan func(*sql.Rows) error) (err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func cohortRows(ctx context.Context, q querier) (out []bench.CohortView, err error) {
	err = collect(ctx, q, "SELECT id, study, created_at, assay, scaffold, run_order, limits FROM cohorts ORDER BY id", nil,
		func(rows *sql.Rows) error {
			var v bench.CohortView
			var created sql.NullString
			var limits string
			if err := rows.Scan(&v.ID, &v.Study, &created, &v.Assay, &v.Scaffold, &v.Order, &limits); err != nil {
				return err
			}
			if v.Created, err = parseTime(created); err != nil {
				return err
			}
			var doc limitsDoc
			if err := parse(&limits, &doc); err != nil {
				return err
			}
			v.Limits = bench.Limits(doc)
			out = append(out, v)
			return nil
		})
	return out, err
}

func armRows(ctx context.Context, q querier, cohort int64) (out []bench.ArmView, err error) {
	err = collect(ctx, q, "SELECT declared FROM arms WHERE cohort = ? ORDER BY position", []any{cohort},
		func(rows *sql.Rows) error {
			var text string
			if err := rows.Scan(&text); err != nil {
				return err
			}
			var doc armDoc
			if err := parse(&text, &doc); err != nil {
				return err
			}
			out = append(out, bench.ArmView{Arm: doc.arm()})
			return nil
		})
	return out, err
}

func cellRows(ctx context.Context, q querier, cohort int64) (out []bench.PlannedCell, err error) {
	err = collect(ctx, q, `SELECT c.key, cc.arm, c.task, c.seed, c.repeat, c.variant, c.task_digest, cc.fixture_version, cc.fixture_digest
		FROM cohort_cells cc JOIN cells c ON c.id = cc.cell WHERE cc.cohort = ? ORDER BY cc.position`, []any{cohort},
		func(rows *sql.Rows) error {
			var c bench.PlannedCell
			err := rows.Scan(&c.Key, &c.Arm, &c.Task, &c.Seed, &c.Repeat, &c.Variant, &c.TaskDigest,
				&c.FixtureVersion, &c.FixtureDigest)
			out = append(out, c)
			return err
		})
	return out, err
}
