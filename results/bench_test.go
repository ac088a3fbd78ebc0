package results

import (
	"bytes"
	"fmt"
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

// BenchmarkCohorts reads a cohort of 10,000 attempts with ten responses and a
// grading of thirteen checks each.
func BenchmarkCohorts(b *testing.B) {
	const attempts, responses = 10000, 10
	path := dbPath(b)
	s := openStore(b, path)
	p := plan(attempts)
	cohort := cohortOf(b, s, p)
	c := candidate(b, "x")
	statuses := make([]bench.CheckStatus, 13)
	for i := range statuses {
		statuses[i] = bench.CheckPassed
	}
	if _, err := s.db.Exec("PRAGMA synchronous = OFF"); err != nil {
		b.Fatal(err)
	}
	r := fullResponse()
	r.RequestBody, r.Raw = nil, nil
	for i := range attempts {
		a := begin(b, s, cohort, p.Cells[i])
		for range responses {
			must(b, s.AddResponse(b.Context(), a, 1, r, nil))
		}
		must(b, s.EndAttempt(b.Context(), a, attemptEnd(bench.StopSubmitted, c)))
		must(b, s.AddGrading(b.Context(), a, grading(c.ID, "fixture-digest", "", statuses...)))
	}
	reader := openReader(b, path)
	b.ReportAllocs()
	for b.Loop() {
		views, err := reader.Cohorts(b.Context())
		must(b, err)
		if len(views[0].Attempts) != attempts {
			b.Fatal(len(views[0].Attempts))
		}
	}
}
