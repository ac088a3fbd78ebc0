package doctor

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Bounds of one check.
const (
	grace     = 500 * time.Millisecond // for ending what a check started, after its deadline
	longText  = 600                    // runes of what was found
	longCures = 2000                   // runes of a cure
)

const waitLonger = "see what hangs (a dead mount, a driver: dmesg | tail); assay doctor --timeout 1m waits longer"

// Run makes all checks at once and returns them in the order of the probes. It
// returns when each has ended, or passed its deadline, or ctx has ended. A check
// that still hangs then is left behind, for nothing can stop a system call that
// does not return. A timeout above zero replaces every probe's own.
func Run(ctx context.Context, probes []Probe, timeout time.Duration) []Check {
	results := make([]chan Check, len(probes))
	for i, p := range probes {
		if timeout > 0 {
			p.Timeout = timeout
		}
		results[i] = make(chan Check, 1)
		go func() { results[i] <- p.check(ctx) }()
	}
	checks := make([]Check, len(probes))
	for i := range probes {
		checks[i] = <-results[i]
	}
	return checks
}

// check makes one check and never takes longer than timeout and grace.
func (p Probe) check(ctx context.Context) Check {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	done := make(chan Check, 1)
	go func() { done <- p.Run(ctx) }()
	select {
	case c := <-done:
		if ctx.Err() == nil {
			return p.tidy(c)
		}
	case <-ctx.Done():
		late := time.NewTimer(grace)
		defer late.Stop()
		select {
		case <-done:
		case <-late.C:
		}
	}
	if ctx.Err() == context.Canceled {
		return p.tidy(na("interrupted"))
	}
	return p.tidy(fail(fmt.Sprintf("ran into its deadline of %s", p.Timeout), cmp.Or(p.Stuck, waitLonger)))
}

// tidy names a check and keeps what programs and files said to plain, short
// text.
func (p Probe) tidy(c Check) Check {
	c.Name = p.Name
	if c.State == "" {
		c = Check{Name: p.Name, State: Fail, Found: "the check came to nothing", Cure: "report this: it is a fault of assay"}
	}
	c.Found = plain(strings.Join(strings.Fields(c.Found), " "), longText)
	c.Cure = plain(strings.TrimSpace(c.Cure), longCures)
	return c
}

// plain drops what could move a terminal's cursor and cuts what is too long.
func plain(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}
