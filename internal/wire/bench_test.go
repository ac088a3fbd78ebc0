package wire

import (
	"bytes"
	"testing"
	"time"
)

// BenchmarkStream reports the cost of one event of a recorded stream, read in
// pieces as a socket gives them.
func BenchmarkStream(b *testing.B) {
	var body []byte
	for _, r := range load(b) {
		if r.Name == "base/chat-stop-eos-stream" {
			body = r.Body
		}
	}
	if body == nil {
		b.Fatal("recording missing")
	}
	events := bytes.Count(body, []byte("\n\n"))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		p := NewParser(Limits{})
		for rest := body; len(rest) > 0; {
			k := min(len(rest), 400)
			if err := p.Feed(rest[:k], time.Millisecond); err != nil {
				b.Fatal(err)
			}
			rest = rest[k:]
		}
		if r, err := p.End(time.Second); err != nil || !r.Complete {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*events), "ns/event")
}
