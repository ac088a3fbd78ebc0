package results

import (
	"context"
	"database/sql"

	"assay/internal/bench"
)

// LastObserved returns what the newest attempt at the cells of an arm of a cohort
// read back from its server, whichever run began that attempt; nil where there is
// none. The error wraps ErrUnknownCohort.
func (s *Store) LastObserved(ctx context.Context, cohort int64, arm string) (*bench.Observed, error) {
	return viewed(ctx, s, "read what a server last said of itself", func(ctx context.Context, q querier) (*bench.Observed, error) {
		if err := knownCohort(ctx, q, cohort); err != nil {
			return nil, err
		}
		all, err := lastObserved(ctx, q, cohort)
		return all[arm], err
	})
}

// lastObserved is what the newest attempt of each arm of a cohort read back.
func lastObserved(ctx context.Context, q querier, cohort int64) (map[string]*bench.Observed, error) {
	out := map[string]*bench.Observed{}
	err := collect(ctx, q, `SELECT arm, observed FROM attempts JOIN (
			SELECT cc.arm AS arm, max(a.id) AS latest
			FROM cohort_cells cc JOIN attempts a ON a.cell = cc.cell WHERE cc.cohort = ? GROUP BY cc.arm
		) ON attempts.id = latest`, []any{cohort},
		func(rows *sql.Rows) error {
			var arm, text string
			if err := rows.Scan(&arm, &text); err != nil {
				return err
			}
			var doc observedDoc
			if err := parse(&text, &doc); err != nil {
				return err
			}
			o := bench.Observed(doc)
			out[arm] = &o
			return nil
		})
	return out, err
}
