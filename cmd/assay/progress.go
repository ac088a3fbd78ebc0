package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"assay/internal/bench"
	"assay/internal/report"
)

// progress tells people (stderr) or programs (JSON lines on stdout) what a run
// does. It is safe for concurrent use.
type progress struct {
	s    state
	json bool

	mu   sync.Mutex
	lost error // first event that could not be written
}

func newProgress(s state, json bool) *progress { return &progress{s: s, json: json} }

// note prints one line for people. What servers and models wrote in it cannot
// steer the terminal.
func (p *progress) note(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.s.stderr, report.Printable(line))
}

// lines prints an error that may hold several lines.
func (p *progress) lines(before string, err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		p.note(before + line)
		before = ""
	}
}

// jsonEvent is the line of an event under --json.
type jsonEvent struct {
	Schema    int             `json:"schema"`
	Time      time.Time       `json:"time"`
	Event     bench.EventKind `json:"event"`
	Arm       string          `json:"arm,omitempty"`
	Task      string          `json:"task,omitempty"`
	Seed      int             `json:"seed,omitempty"`
	Repeat    int             `json:"repeat,omitempty"`
	Attempt   int64           `json:"attempt,omitempty"`
	Done      int             `json:"done"` // cells complete
	Planned   int             `json:"planned"`
	Message   string          `json:"message,omitempty"`
	Simulated bool            `json:"simulated,omitempty"`
}

func (p *progress) event(e bench.Event) {
	if p.json {
		p.writeJSON(e)
		return
	}
	switch e.Kind {
	case bench.EventArmReady, bench.EventArmFailed, bench.EventDraining, bench.EventRunEnded:
		p.note(e.Message)
	case bench.EventAttemptEnded:
		if e.Row != nil && e.Row.Stop.Reason == bench.StopInterrupted {
			p.note(fmt.Sprintf("[%d/%d] %s interrupted; the next run tries it again", e.Done, e.Planned, e.Cell))
		} else if e.Row != nil && !e.Row.Counts {
			p.note(fmt.Sprintf("[%d/%d] %s invalid, %s", e.Done, e.Planned, e.Cell, e.Message))
		}
	case bench.EventGraded:
		p.note(fmt.Sprintf("[%d/%d] %s %s", e.Done, e.Planned, e.Cell, outcomeLine(e)))
	}
}

// outcomeLine says what came of an attempt: verdict, tokens, rate, seconds.
func outcomeLine(e bench.Event) string {
	a := e.Row
	if a == nil || a.TaskSeconds == nil { // attempt of an earlier run, graded now
		return e.Message
	}
	parts := []string{e.Message}
	if a.Functional() {
		parts[0] = "functional, not delivered (" + string(a.Stop.Reason) + ")"
		if a.Delivered() {
			parts[0] = "functional delivered"
		}
	} else if !a.Stop.Reason.HandedOver() {
		parts[0] += " (" + string(a.Stop.Reason) + ")"
	}
	if a.NativeRows > 0 {
		parts = append(parts, fmt.Sprintf("%d tok", a.NativeTokens), fmt.Sprintf("%.1f t/s", float64(a.NativeTokens)/(a.DecodeMS/1000)))
	}
	parts = append(parts, fmt.Sprintf("%.0f s", *a.TaskSeconds))
	if a.Simulated {
		parts = append(parts, "simulated")
	}
	return strings.Join(parts, "  ")
}

func (p *progress) writeJSON(e bench.Event) {
	j := jsonEvent{Schema: 1, Time: e.Time.UTC(), Event: e.Kind, Attempt: e.Attempt, Done: e.Done, Planned: e.Planned, Message: e.Message}
	if e.Cell != nil {
		j.Arm, j.Task, j.Seed, j.Repeat = e.Cell.Arm, e.Cell.Task, e.Cell.Seed, e.Cell.Repeat
	}
	if e.Row != nil {
		j.Simulated = e.Row.Simulated
	}
	line, err := json.Marshal(j)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		_, err = fmt.Fprintln(p.s.stdout, string(line))
	}
	if err != nil && p.lost == nil {
		p.lost = fmt.Errorf("write the run's events: %w", err)
	}
}

// failed says that events were lost; the record has them.
func (p *progress) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}
