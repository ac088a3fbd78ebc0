package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"assay/internal/bench"
)

// frozen is a candidate packed for writing.
type frozen struct {
	id       string
	manifest *packed
	files    []*packed
	tree     bench.Tree
}

// freeze packs a candidate after checking that it is what its id says.
func (s *Store) freeze(c *bench.Candidate) (*frozen, error) {
	if c == nil {
		return nil, nil
	}
	tree, err := bench.NewTree(c.Tree)
	if err != nil {
		return nil, fmt.Errorf("candidate %s: %w", c.ID, err)
	}
	manifest := tree.Manifest()
	if got := bench.Digest(manifest); got != c.ID {
		return nil, fmt.Errorf("candidate %s has the digest %s", c.ID, got)
	}
	f := &frozen{id: c.ID, tree: tree}
	if f.manifest, err = s.blobs.packWhole(manifest); err != nil {
		return nil, fmt.Errorf("candidate %s: %w", c.ID, err)
	}
	for _, file := range tree {
		p, err := s.blobs.packWhole(file.Data)
		if err != nil {
			return nil, fmt.Errorf("candidate %s, file %q: %w", c.ID, file.Path, err)
		}
		f.files = append(f.files, p)
	}
	return f, nil
}

// putCandidate writes a candidate unless an earlier attempt left the same one.
func putCandidate(ctx context.Context, tx *sql.Tx, f *frozen) error {
	if f == nil {
		return nil
	}
	var known bool
	err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM candidates WHERE id = ?)", f.id).Scan(&known)
	if err != nil || known {
		return err
	}
	manifest, err := putBlob(ctx, tx, f.manifest)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO candidates (id, manifest) VALUES (?, ?)", f.id, manifest); err != nil {
		return fmt.Errorf("candidate %s: %w", f.id, err)
	}
	for i, file := range f.tree {
		blob, err := putBlob(ctx, tx, f.files[i])
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO candidate_files (candidate, path, exec, blob) VALUES (?, ?, ?, ?)",
			f.id, file.Path, file.Exec, blob)
		if err != nil {
			return fmt.Errorf("candidate %s, file %q: %w", f.id, file.Path, err)
		}
	}
	return nil
}

// Candidate reads the tree of a candidate and checks it against its id. Skipped
// and Rejected stay empty: they belong to the export of one attempt, and attempts
// share trees (every rejected export left the empty one). CellStates has what was
// rejected. The error wraps ErrUnknownCandidate or ErrAltered.
func (s *Store) Candidate(ctx context.Context, id string) (bench.Candidate, error) {
	return candidateOf(ctx, s, s.blobs, id)
}

// Candidate reads a candidate as Store.Candidate does.
func (r *Reader) Candidate(ctx context.Context, id string) (bench.Candidate, error) {
	return candidateOf(ctx, r, r.blobs, id)
}

func candidateOf(ctx context.Context, v viewer, blobs *codec, id string) (bench.Candidate, error) {
	return viewed(ctx, v, "read a candidate", func(ctx context.Context, q querier) (bench.Candidate, error) {
		return blobs.candidate(ctx, q, id)
	})
}

func (c *codec) candidate(ctx context.Context, q querier, id string) (bench.Candidate, error) {
	none := bench.Candidate{}
	var manifest int64
	err := q.QueryRowContext(ctx, "SELECT manifest FROM candidates WHERE id = ?", id).Scan(&manifest)
	if errors.Is(err, sql.ErrNoRows) {
		return none, fmt.Errorf("candidate %s: %w", id, ErrUnknownCandidate)
	}
	if err != nil {
		return none, err
	}
	tree, err := c.tree(ctx, q, id)
	if err != nil {
		return none, err
	}
	stored, err := c.getBlob(ctx, q, &manifest)
	if err != nil {
		return none, err
	}
	if got := tree.Digest(); got != id || bench.Digest(stored) != id {
		return none, fmt.Errorf("%w: candidate %s has the digest %s", ErrAltered, id, got)
	}
	return bench.Candidate{ID: id, Tree: tree}, nil
}

func (c *codec) tree(ctx context.Context, q querier, id string) (bench.Tree, error) {
	files, blobs, err := candidateFiles(ctx, q, id)
	if err != nil {
		return nil, err
	}
	for i := range files {
		if files[i].Data, err = c.getBlob(ctx, q, &blobs[i]); err != nil {
			return nil, fmt.Errorf("candidate %s, file %q: %w", id, files[i].Path, err)
		}
	}
	tree, err := bench.NewTree(files)
	if err != nil {
		return nil, fmt.Errorf("%w: candidate %s: %w", ErrAltered, id, err)
	}
	return tree, nil
}

func candidateFiles(ctx context.Context, q querier, id string) (files []bench.File, blobs []int64, err error) {
	rows, err := q.QueryContext(ctx, "SELECT path, exec, blob FROM candidate_files WHERE candidate = ? ORDER BY path", id)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var f bench.File
		var blob int64
		if err := rows.Scan(&f.Path, &f.Exec, &blob); err != nil {
			return nil, nil, err
		}
		files, blobs = append(files, f), append(blobs, blob)
	}
	return files, blobs, rows.Err()
}
