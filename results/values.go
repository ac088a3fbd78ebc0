package results

import (
	"database/sql"
	"fmt"
	"time"
)

// timeLayout has a fixed width, so that text order is time order.
const timeLayout = "2006-01-02T15:04:05.000000000Z"

// timeText is a time as the record keeps it; the zero time is unknown.
func timeText(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format(timeLayout)
	return &s
}

func parseTime(s sql.NullString) (time.Time, error) {
	if !s.Valid {
		return time.Time{}, nil
	}
	t, err := time.Parse(timeLayout, s.String)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: a time that is none: %w", ErrAltered, err)
	}
	return t, nil
}

// orNull turns a zero value that means "none" or "unknown" into NULL.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// orZero turns NULL back into the zero value that stands for it.
func orZero[T any](v *T) T {
	if v == nil {
		var zero T
		return zero
	}
	return *v
}

func nanos(d *time.Duration) *int64 {
	if d == nil {
		return nil
	}
	n := d.Nanoseconds()
	return &n
}

func duration(n *int64) *time.Duration {
	if n == nil {
		return nil
	}
	d := time.Duration(*n)
	return &d
}
