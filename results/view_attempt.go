package results

import (
	"context"
	"database/sql"

	"assay/internal/bench"
)

// responseSum is what an attempt's responses add up to.
type responseSum struct {
	responses, native int
	nativeTokens      int64
	decodeMS          float64
	draftN, draftAcc  *int64
}

// A row is native where bench.Response.NativeDecode says so. total() instead of
// sum(): a server's absurd count then saturates and cannot fail the whole report.
const sumQuery = `
SELECT attempt, count(*), total(native), CAST(total(iif(native, predicted_n, 0)) AS INTEGER),
	total(iif(native, predicted_ms, 0)),
	iif(count(draft_n) > 0, CAST(total(draft_n) AS INTEGER), NULL),
	iif(count(draft_n_accepted) > 0, CAST(total(draft_n_accepted) AS INTEGER), NULL)
FROM (
	SELECT attempt, predicted_n, predicted_ms, draft_n, draft_n_accepted,
		coalesce(predicted_n >= 2 AND predicted_ms > 0, 0) AS native
	FROM response_timings
)
GROUP BY attempt`

func responseSums(ctx context.Context, q querier) (map[int64]responseSum, error) {
	out := map[int64]responseSum{}
	err := collect(ctx, q, sumQuery, nil, func(rows *sql.Rows) error {
		var id int64
		var s responseSum
		var native float64
		err := rows.Scan(&id, &s.responses, &native, &s.nativeTokens, &s.decodeMS, &s.draftN, &s.draftAcc)
		s.native = int(native)
		out[id] = s
		return err
	})
	return out, err
}

const attemptQuery = `
SELECT a.id, cc.arm, c.task, c.seed, c.repeat, a.simulated, e.attempt IS NOT NULL, coalesce(e.counts, 0), e.stop_reason,
	e.stop_message, e.limit_name, e.limit_value, e.limit_reached, coalesce(e.turns, 0), e.task_ns / 1e9,
	e.candidate, e.rejected, e.protected_touched, e.bad_calls, e.engine_idle
FROM cohort_cells cc
JOIN cells c ON c.id = cc.cell
JOIN attempts a ON a.cell = cc.cell
LEFT JOIN attempt_ends e ON e.attempt = a.id
WHERE cc.cohort = ?
ORDER BY a.id`

func attemptRows(ctx context.Context, q querier, cohort int64, sums map[int64]responseSum) (out []bench.AttemptRow, err error) {
	err = collect(ctx, q, attemptQuery, []any{cohort}, func(rows *sql.Rows) error {
		row, err := scanAttempt(rows)
		if err != nil {
			return err
		}
		s := sums[row.ID]
		row.Responses, row.NativeRows, row.OtherRows = s.responses, s.native, s.responses-s.native
		row.NativeTokens, row.DecodeMS = s.nativeTokens, s.decodeMS
		row.DraftN, row.DraftNAcc = s.draftN, s.draftAcc
		out = append(out, row)
		return nil
	})
	return out, err
}

func scanAttempt(rows *sql.Rows) (row bench.AttemptRow, err error) {
	var reason, message, limit, value, reached, candidate, rejected, touched, bad, idle *string
	err = rows.Scan(&row.ID, &row.Cell.Arm, &row.Cell.Task, &row.Cell.Seed, &row.Cell.Repeat, &row.Simulated, &row.Ended,
		&row.Counts, &reason, &message, &limit, &value, &reached, &row.Turns, &row.TaskSeconds, &candidate, &rejected,
		&touched, &bad, &idle)
	if err != nil {
		return row, err
	}
	row.Stop = bench.Stop{
		Reason: bench.StopReason(orZero(reason)), Message: orZero(message), Limit: orZero(limit), Value: orZero(value),
		Reached: orZero(reached),
	}
	row.Candidate, row.Rejected = orZero(candidate), orZero(rejected)
	if err := parse(touched, &row.ProtectedTouched); err != nil {
		return row, err
	}
	if err := parse(bad, &row.BadCalls); err != nil {
		return row, err
	}
	var gaps []idleGapDoc
	if err := parse(idle, &gaps); err != nil {
		return row, err
	}
	row.EngineIdle = each(gaps, func(g idleGapDoc) bench.IdleGap { return bench.IdleGap(g) })
	return row, nil
}
