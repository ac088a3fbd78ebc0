package results

import (
	"context"
	"database/sql"
)

// viewer is a Store or a Reader: what both can read is read by one function.
type viewer interface {
	// view runs fn over one consistent state. fn may run more than once and must
	// start afresh each time. what names the reading in an error.
	view(ctx context.Context, what string, fn func(ctx context.Context, q querier) error) error
}

var (
	_ viewer = (*Store)(nil)
	_ viewer = (*Reader)(nil)
)

// view runs fn on the connection of the writer.
func (s *Store) view(ctx context.Context, what string, fn func(ctx context.Context, q querier) error) error {
	return s.write(ctx, passing, what, func(ctx context.Context, tx *sql.Tx) error { return fn(ctx, tx) })
}

// viewed returns what fn reads; after an error the zero value.
func viewed[T any](ctx context.Context, v viewer, what string, fn func(ctx context.Context, q querier) (T, error)) (T, error) {
	var out T
	err := v.view(ctx, what, func(ctx context.Context, q querier) (err error) {
		out, err = fn(ctx, q)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return out, nil
}
