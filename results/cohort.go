package results

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"assay/internal/bench"
)

// EnsureCohort writes a plan down and returns its cohort. A plan with the same
// study name, order, scaffold and cells (keys, arm names and fixtures) is the
// same cohort: a comment or an address that changed in the study file does not
// make another. Another plan is a new cohort, which
// shares the cells that have an equal key, and with them their attempts.
func (s *Store) EnsureCohort(ctx context.Context, p bench.CohortPlan) (id int64, err error) {
	identity, err := identify(p)
	if err != nil {
		return 0, err
	}
	study, err := s.blobs.packWhole(p.StudyText)
	if err != nil {
		return 0, fmt.Errorf("pack the study: %w", err)
	}
	scaffold, err := s.blobs.packWhole(p.ScaffoldText)
	if err != nil {
		return 0, fmt.Errorf("pack the scaffold: %w", err)
	}
	limits, err := document(limitsDoc(p.Limits))
	if err != nil {
		return 0, err
	}
	err = s.write(ctx, durable, "write the plan", func(ctx context.Context, tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, "SELECT id FROM cohorts WHERE identity = ?", identity).Scan(&id)
		if err == nil || !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		studyID, err := putBlob(ctx, tx, study)
		if err != nil {
			return err
		}
		scaffoldID, err := putBlob(ctx, tx, scaffold)
		if err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO cohorts (identity, study, study_digest, study_text, assay,
			scaffold, scaffold_text, run_order, limits, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			identity, p.Study, p.StudyDigest, studyID, p.Assay, p.Scaffold, scaffoldID, p.Order, limits,
			timeText(s.now()))
		if err != nil {
			return err
		}
		if id, err = res.LastInsertId(); err != nil {
			return err
		}
		if err := insertArms(ctx, tx, id, p.Arms); err != nil {
			return err
		}
		return insertCells(ctx, tx, id, p.Cells)
	})
	if err != nil {
		return 0, err
	}
	return id, nil
}

// identify digests what makes two plans the same cohort.
func identify(p bench.CohortPlan) (string, error) {
	arms := make(map[string]bool, len(p.Arms))
	for _, a := range p.Arms {
		if arms[a.Name] {
			return "", fmt.Errorf("the plan has two arms named %q", a.Name)
		}
		arms[a.Name] = true
	}
	lines := make([]string, 0, len(p.Cells))
	keys := make(map[string]bench.Cell, len(p.Cells))
	for _, c := range p.Cells {
		if c.Key == "" {
			return "", fmt.Errorf("the planned cell %s has no key", c.Cell)
		}
		if !arms[c.Arm] {
			return "", fmt.Errorf("the planned cell %s names an arm that the plan lacks", c.Cell)
		}
		if other, ok := keys[c.Key]; ok {
			return "", fmt.Errorf("the planned cells %s and %s have the same content, leave one out", other, c.Cell)
		}
		keys[c.Key] = c.Cell
		lines = append(lines, fmt.Sprintf("%q %q %q %q\n", c.Key, c.Arm, c.FixtureVersion, c.FixtureDigest))
	}
	slices.Sort(lines)
	h := sha256.New()
	fmt.Fprintf(h, "cohort 1\n%q %q %q\n", p.Study, p.Order, p.Scaffold)
	for _, l := range lines {
		h.Write([]byte(l))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func insertArms(ctx context.Context, tx *sql.Tx, cohort int64, arms []bench.Arm) error {
	for i, a := range arms {
		declared, err := document(armToDoc(a))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO arms (cohort, position, name, declared) VALUES (?, ?, ?, ?)",
			cohort, i, a.Name, declared)
		if err != nil {
			return fmt.Errorf("arm %q: %w", a.Name, err)
		}
	}
	return nil
}

func insertCells(ctx context.Context, tx *sql.Tx, cohort int64, cells []bench.PlannedCell) error {
	for i, c := range cells {
		id, err := ensureCell(ctx, tx, c)
		if err != nil {
			return fmt.Errorf("cell %s: %w", c.Cell, err)
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO cohort_cells (cohort, position, cell, arm, fixture_version, fixture_digest)
			VALUES (?, ?, ?, ?, ?, ?)`, cohort, i, id, c.Arm, c.FixtureVersion, c.FixtureDigest)
		if err != nil {
			return fmt.Errorf("cell %s: %w", c.Cell, err)
		}
	}
	return nil
}

// ensureCell returns the cell of a key. A cell of that key that is another one
// means that the key leaves something out: that is refused, not shared.
func ensureCell(ctx context.Context, tx *sql.Tx, c bench.PlannedCell) (int64, error) {
	var id int64
	var have bench.PlannedCell
	err := tx.QueryRowContext(ctx, "SELECT id, task, seed, repeat, variant, task_digest FROM cells WHERE key = ?", c.Key).
		Scan(&id, &have.Task, &have.Seed, &have.Repeat, &have.Variant, &have.TaskDigest)
	if err == nil {
		if have.Task != c.Task || have.Seed != c.Seed || have.Repeat != c.Repeat || have.Variant != c.Variant ||
			have.TaskDigest != c.TaskDigest {
			return 0, fmt.Errorf("its key belongs to the cell %s seed %d repeat %d (%s, %s) of an earlier plan",
				have.Task, have.Seed, have.Repeat, have.Variant, have.TaskDigest)
		}
		return id, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	res, err := tx.ExecContext(ctx, "INSERT INTO cells (key, task, seed, repeat, variant, task_digest) VALUES (?, ?, ?, ?, ?, ?)",
		c.Key, c.Task, c.Seed, c.Repeat, string(c.Variant), c.TaskDigest)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}
