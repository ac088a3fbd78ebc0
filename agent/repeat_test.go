package agent

import (
	"testing"

	"assay/internal/bench"
)

// A model that runs the same tests again and again gets answers that differ in
// the runner's timing only.
func TestRepeatedCallsAreSeenThroughTimings(t *testing.T) {
	c := bench.ToolCall{Name: "run", Arguments: `{"command":"python3 -m unittest"}`}
	tests := []struct {
		name    string
		answers []string
		want    int // run after the last answer
	}{
		{"unittest", []string{"Ran 3 tests in 0.080s\n\nOK", "Ran 3 tests in 0.093s\n\nOK", "Ran 3 tests in 1.2s\n\nOK"}, 3},
		{"pytest", []string{"3 passed in 0.01s", "3 passed in 0.02s"}, 2},
		{"milliseconds", []string{"took 1.5 ms", "took 1.75 ms"}, 2},
		{"another count is progress", []string{"2 passed in 0.01s", "3 passed in 0.01s"}, 1},
		{"another amount is progress", []string{"TOTAL\t1.50", "TOTAL\t1.75"}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRepeats()
			got := 0
			for _, a := range tt.answers {
				got = r.call(c, a)
			}
			if got != tt.want {
				t.Errorf("run %d, want %d", got, tt.want)
			}
		})
	}
}
