package results

import (
	"context"
	"database/sql"
	"time"

	"assay/internal/bench"
)

// chosenQuery picks one grading an attempt, of those by the planned fixture: the
// latest without fault, else the latest. Attempts without one are left out.
const chosenQuery = `
SELECT attempt, grading FROM (
	SELECT a.id AS attempt, (
		SELECT coalesce(max(iif(g.fault IS NULL, g.id, NULL)), max(g.id))
		FROM gradings g WHERE g.attempt = a.id AND g.fixture_digest = cc.fixture_digest
	) AS grading
	FROM cohort_cells cc JOIN attempts a ON a.cell = cc.cell WHERE cc.cohort = ?1
) WHERE grading IS NOT NULL`

// gradingQuery counts the checks where they lie: only those that did not pass are
// read one by one, which are few in a large record.
const gradingQuery = `
SELECT g.id, g.attempt, g.fixture_version, g.fixture_digest, g.environment, g.complete, g.fault, g.flags, g.elapsed_ns,
	(SELECT count(*) FROM checks c WHERE c.grading = g.id),
	(SELECT count(*) FROM checks c WHERE c.grading = g.id AND c.status = 'passed')
FROM (` + chosenQuery + `) chosen JOIN gradings g ON g.id = chosen.grading`

// fillGradings hangs the chosen grading on each attempt of a cohort.
func fillGradings(ctx context.Context, q querier, v *bench.CohortView) error {
	byAttempt := make(map[int64]*bench.AttemptRow, len(v.Attempts))
	for i := range v.Attempts {
		byAttempt[v.Attempts[i].ID] = &v.Attempts[i]
	}
	lacking := map[int64]*bench.GradingRow{}       // those with checks that did not pass
	environments := map[string]bench.Environment{} // many gradings, few environments
	err := collect(ctx, q, gradingQuery, []any{v.ID}, func(rows *sql.Rows) error {
		var id, attempt, elapsed int64
		var environment string
		var fault, flags *string
		g := &bench.GradingRow{}
		err := rows.Scan(&id, &attempt, &g.FixtureVersion, &g.FixtureDigest, &environment, &g.Complete, &fault, &flags, &elapsed,
			&g.Total, &g.Passed)
		if err != nil {
			return err
		}
		g.Fault, g.Elapsed = orZero(fault), time.Duration(elapsed)
		// The rule of bench.Grading.Functional over the counts.
		g.Functional = g.Fault == "" && g.Complete && g.Total > 0 && g.Passed == g.Total
		if err := parse(flags, &g.Flags); err != nil {
			return err
		}
		if g.Environment, err = parseEnvironment(environments, environment); err != nil {
			return err
		}
		if g.Passed < g.Total {
			lacking[id] = g
		}
		byAttempt[attempt].Grading = g
		return nil
	})
	if err != nil {
		return err
	}
	return fillChecks(ctx, q, v.ID, lacking)
}

// fillChecks reads the checks that did not pass.
func fillChecks(ctx context.Context, q querier, cohort int64, byID map[int64]*bench.GradingRow) error {
	if len(byID) == 0 {
		return nil
	}
	ids := map[string]string{} // many checks, few ids: keep each text once
	return collect(ctx, q, `SELECT c.grading, c.id, c.status, c.message, c.flags, c.elapsed_ns
		FROM (`+chosenQuery+`) chosen JOIN checks c ON c.grading = chosen.grading
		WHERE c.status <> 'passed' ORDER BY c.grading, c.position`, []any{cohort},
		func(rows *sql.Rows) error {
			grading, c, err := scanCheck(rows)
			if err != nil {
				return err
			}
			if known, ok := ids[c.ID]; ok {
				c.ID = known
			} else {
				ids[c.ID] = c.ID
			}
			g := byID[grading]
			g.Checks = append(g.Checks, c)
			return nil
		})
}

func scanCheck(rows *sql.Rows) (grading int64, c bench.CheckResult, err error) {
	var status string
	var message, flags *string
	var elapsed int64
	if err := rows.Scan(&grading, &c.ID, &status, &message, &flags, &elapsed); err != nil {
		return 0, c, err
	}
	switch bench.CheckStatus(status) { // constants, so that no text of a row is kept
	case bench.CheckPassed:
		c.Status = bench.CheckPassed
	case bench.CheckFailed:
		c.Status = bench.CheckFailed
	default:
		c.Status = bench.CheckNotRun
	}
	c.Message, c.Elapsed = orZero(message), time.Duration(elapsed)
	return grading, c, parse(flags, &c.Flags)
}

func parseEnvironment(known map[string]bench.Environment, text string) (bench.Environment, error) {
	if e, ok := known[text]; ok {
		return e, nil
	}
	var doc environmentDoc
	if err := parse(&text, &doc); err != nil {
		return bench.Environment{}, err
	}
	e := doc.environment()
	known[text] = e
	return e, nil
}
