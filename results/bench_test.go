package results

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"assay/internal/bench"
)

// BenchmarkAddResponse writes responses with a request of 40 kB and an answer of
// 20 kB, both of which compress as text does.
func BenchmarkAddResponse(b *testing.B) {
	s := openStore(b, dbPath(b))
	p := plan(1)
	a := begin(b, s, cohortOf(b, s, p), p.Cells[0])
	r := fullResponse()
	request, raw := prose(40<<10), prose(20<<10)
	n := 0
	for b.Loop() {
		n++
		r.RequestBody = fmt.Appendf(request[:len(request):len(request)], "%d", n)
		r.Raw = fmt.Appendf(raw[:len(raw):len(raw)], "%d", n)
		must(b, s.AddResponse(b.Context(), a, 1, r, nil))
	}
}

func prose(n int) []byte {
	words := noise(n)
	var out bytes.Buffer
	for i := 0; out.Len() < n; i++ {
		fmt.Fprintf(&out, "word%d ", words[i]%97)
	}
	return out.Bytes()[:n]
}

// BenchmarkCohorts reads a cohort of 100,000 attempts with ten responses and a
// grading of thirteen checks each, a third of which lack one check.
func BenchmarkCohorts(b *testing.B) {
	const attempts = 100_000
	path := dbPath(b)
	s := openStore(b, path)
	p := plan(attempts)
	cohort := cohortOf(b, s, p)
	multiply(b, s, cohort)
	must(b, s.Close())
	reader := openReader(b, path)
	var peak uint64
	b.ReportAllocs()
	for b.Loop() {
		views, err := reader.Cohorts(b.Context())
		must(b, err)
		if n := len(views[0].Attempts); n != attempts || views[0].Attempts[n-1].Grading.Total != 13 {
			b.Fatal(n, views[0].Attempts[n-1])
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapInuse+m.StackInuse)
		runtime.KeepAlive(views)
	}
	b.ReportMetric(float64(peak)/(1<<20), "MiB")
}

// multiply writes the first cell's attempt by the Store and copies its rows to
// all other cells: the Store would take minutes.
func multiply(b *testing.B, s *Store, cohort int64) {
	c := candidate(b, "x")
	p := plan(1)
	a := begin(b, s, cohort, p.Cells[0])
	r := fullResponse()
	r.RequestBody, r.Raw = nil, nil
	for range 10 {
		must(b, s.AddResponse(b.Context(), a, 1, r, nil))
	}
	must(b, s.EndAttempt(b.Context(), a, attemptEnd(bench.StopSubmitted, c)))
	statuses := slices.Repeat([]bench.CheckStatus{bench.CheckPassed}, 13)
	must(b, s.AddGrading(b.Context(), a, grading(c.ID, "fixture-digest", "", statuses...)))
	for _, table := range []struct{ name, id, other string }{
		{"attempts", "id", "cell"}, {"attempt_ends", "attempt", "cell"}, {"responses", "attempt", ""},
		{"response_timings", "attempt", ""}, {"gradings", "id", "attempt"}, {"checks", "grading", ""},
	} {
		var names, values []string
		must(b, collect(b.Context(), s.db, "SELECT name FROM pragma_table_info(?)", []any{table.name}, scanInto(&names)))
		for _, n := range names {
			value := "t." + n
			switch {
			case n == table.id, n == table.other:
				value = "cells.id"
			case table.name == "checks" && n == "status":
				value = "iif(cells.id % 3 = 0 AND t.position = 7, 'failed', t.status)"
			}
			values = append(values, value)
		}
		query := fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM cells CROSS JOIN (SELECT * FROM %[1]s) t WHERE cells.id > 1 ORDER BY cells.id",
			table.name, strings.Join(names, ", "), strings.Join(values, ", "))
		if _, err := s.db.Exec(query); err != nil {
			b.Fatal(err)
		}
	}
}
