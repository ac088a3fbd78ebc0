package results

import (
	"context"
	"database/sql"
	"time"

	"assay/internal/bench"
)

// Gradings reads all gradings of an attempt with checks and judge frames, in the
// order in which they were written.
func (r *Reader) Gradings(ctx context.Context, attempt int64) ([]bench.Grading, error) {
	var out []bench.Grading
	err := r.view(ctx, "read the gradings", func(ctx context.Context, q querier) error {
		var list []bench.Grading
		var ids []int64
		var frames []*int64
		err := collect(ctx, q, `SELECT id, candidate, task, fixture_version, fixture_digest, environment, judge, limits, complete,
			fault, flags, secret, frames, started_at, elapsed_ns FROM gradings WHERE attempt = ? ORDER BY id`, []any{attempt},
			func(rows *sql.Rows) error {
				id, g, f, err := scanGrading(rows)
				ids, list, frames = append(ids, id), append(list, g), append(frames, f)
				return err
			})
		if err != nil {
			return err
		}
		for i := range list {
			if err := r.fillGrading(ctx, q, &list[i], ids[i], frames[i]); err != nil {
				return err
			}
		}
		out = list
		return nil
	})
	return out, err
}

func (r *Reader) fillGrading(ctx context.Context, q querier, g *bench.Grading, id int64, frames *int64) error {
	data, err := r.blobs.getBlob(ctx, q, frames)
	if err != nil {
		return err
	}
	if g.Frames, err = decodeFrames(data); err != nil {
		return err
	}
	return collect(ctx, q, "SELECT grading, id, status, message, flags, elapsed_ns FROM checks WHERE grading = ? ORDER BY position",
		[]any{id}, func(rows *sql.Rows) error {
			_, c, err := scanCheck(rows)
			g.Checks = append(g.Checks, c)
			return err
		})
}

func scanGrading(rows *sql.Rows) (id int64, g bench.Grading, frames *int64, err error) {
	var candidate, fault, flags *string
	var environment, judge, limits string
	var started sql.NullString
	var elapsed int64
	err = rows.Scan(&id, &candidate, &g.Task, &g.FixtureVersion, &g.FixtureDigest, &environment, &judge, &limits, &g.Complete,
		&fault, &flags, &g.Secret, &frames, &started, &elapsed)
	if err != nil {
		return 0, g, nil, err
	}
	g.Candidate, g.Fault, g.Elapsed = orZero(candidate), orZero(fault), time.Duration(elapsed)
	if g.Started, err = parseTime(started); err != nil {
		return 0, g, nil, err
	}
	var boxes [2]environmentDoc
	var limitsDoc fixtureLimitsDoc
	if err := parse(&environment, &boxes[0]); err != nil {
		return 0, g, nil, err
	}
	if err := parse(&judge, &boxes[1]); err != nil {
		return 0, g, nil, err
	}
	if err := parse(&limits, &limitsDoc); err != nil {
		return 0, g, nil, err
	}
	g.Environment, g.Judge = boxes[0].environment(), boxes[1].environment()
	g.Limits = bench.FixtureLimits{Process: bench.ProcessLimits(limitsDoc.Process), JudgeSeconds: limitsDoc.JudgeSeconds}
	return id, g, frames, parse(flags, &g.Flags)
}
