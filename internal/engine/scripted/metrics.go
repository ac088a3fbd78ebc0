package scripted

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"sync"
)

// metrics are the counters of /metrics, in simulated seconds.
type metrics struct {
	mu        sync.Mutex
	prompt    int64 // computed prompt tokens
	cached    int64
	promptUS  int64
	predicted int64
	decodeUS  int64
	steps     int64 // decode steps
	drafts    int64 // decode steps that had a draft
	drafted   int64
	landed    int64
	longest   int64 // prompt and answer
}

func (m *metrics) add(r run) {
	end := r.beats[len(r.beats)-1]
	n := int64(len(r.tokens))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.prompt += r.promptTokens - r.cached
	m.cached += r.cached
	m.promptUS += r.promptUS
	m.predicted += n
	m.decodeUS += end.us
	m.steps += n - end.landed
	before := int64(0)
	for _, b := range r.beats {
		if b.drafted > before {
			m.drafts++
		}
		before = b.drafted
	}
	m.drafted += end.drafted
	m.landed += end.landed
	m.longest = max(m.longest, r.promptTokens+n)
}

func (s *Server) showMetrics(w http.ResponseWriter, _ *http.Request) {
	b := s.metrics.text(s.slots)
	h := w.Header()
	h.Set("Content-Type", "text/plain; version=0.0.4")
	h.Set("Process-Start-Time-Unix", strconv.FormatInt(s.started.Unix(), 10))
	h.Set("Content-Length", strconv.Itoa(len(b)))
	keepAlive(w)
	bound(http.NewResponseController(w))
	_, _ = w.Write(b)
}

func (m *metrics) text(s *slots) []byte {
	busy := s.busy()
	_, deferred := s.view()
	m.mu.Lock()
	defer m.mu.Unlock()
	rate := func(n, us int64) float64 {
		if us == 0 {
			return 0
		}
		return float64(n) / float64(us) * 1e6
	}
	rows := []struct {
		name, kind, help string
		value            float64
	}{
		{"prompt_tokens_total", "counter", "Prompt tokens computed, without cached ones", float64(m.prompt)},
		{"prompt_tokens_cached_total", "counter", "Prompt tokens taken from the cache", float64(m.cached)},
		{"prompt_seconds_total", "counter", "Simulated prompt seconds", float64(m.promptUS) / 1e6},
		{"tokens_predicted_total", "counter", "Output tokens", float64(m.predicted)},
		{"tokens_predicted_seconds_total", "counter", "Simulated decode seconds", float64(m.decodeUS) / 1e6},
		{"n_decode_total", "counter", "Decode steps", float64(m.steps)},
		{"n_tokens_max", "counter", "Longest prompt with its answer", float64(m.longest)},
		{"spec_decode_num_draft_tokens_total", "counter", "Draft tokens", float64(m.drafted)},
		{"spec_decode_num_accepted_tokens_total", "counter", "Draft tokens accepted", float64(m.landed)},
		{"spec_decode_num_drafts_total", "counter", "Decode steps with a draft", float64(m.drafts)},
		{"prompt_tokens_seconds", "gauge", "Computed prompt tokens per simulated second", rate(m.prompt, m.promptUS)},
		{"predicted_tokens_seconds", "gauge", "Output tokens per simulated second", rate(m.predicted, m.decodeUS)},
		{"requests_processing", "gauge", "Requests in a slot", float64(busy)},
		{"requests_deferred", "gauge", "Requests that wait for a slot", float64(deferred)},
		{"n_busy_slots_per_decode", "gauge", "Busy slots per decode step", 1},
	}
	var b bytes.Buffer
	for _, r := range rows {
		name := "llamacpp:" + r.name
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n%s %s\n", name, r.help, name, r.kind, name,
			strconv.FormatFloat(r.value, 'g', -1, 64))
	}
	return b.Bytes()
}
