package doctor

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRunKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after := func(d time.Duration, c Check) func(context.Context) Check {
			return func(context.Context) Check { time.Sleep(d); return c }
		}
		start := time.Now()
		got := Run(t.Context(), []Probe{
			{Name: "slow", Timeout: time.Minute, Run: after(20*time.Second, ok("a"))},
			{Name: "quick", Timeout: time.Minute, Run: after(time.Second, warn("b", "c"))},
		}, 0)
		want := []Check{{"slow", OK, "a", ""}, {"quick", Warn, "b", "c"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if took := time.Since(start); took != 20*time.Second {
			t.Errorf("took %s: the checks did not run side by side", took)
		}
	})
}

// One check heeds its deadline, one never returns: both are named, and neither
// holds up the rest.
func TestRunIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		heeds := func(ctx context.Context) Check { <-ctx.Done(); return ok("too late") }
		hangs := func(context.Context) Check { <-release; return ok("far too late") }
		start := time.Now()
		got := Run(t.Context(), []Probe{
			{Name: "heeds", Timeout: 3 * time.Second, Run: heeds, Stuck: "unplug it"},
			{Name: "hangs", Timeout: 2 * time.Second, Run: hangs},
			{Name: "fine", Timeout: time.Second, Run: func(context.Context) Check { return ok("here") }},
		}, 0)
		took := time.Since(start)
		close(release)
		want := []Check{
			{"heeds", Fail, "ran into its deadline of 3s", "unplug it"},
			{"hangs", Fail, "ran into its deadline of 2s", waitLonger},
			{"fine", OK, "here", ""},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if took > 3*time.Second+grace {
			t.Errorf("took %s", took)
		}
	})
}

func TestTimeoutReplacesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heeds := func(ctx context.Context) Check { <-ctx.Done(); return Check{} }
		got := Run(t.Context(), []Probe{{Name: "a", Timeout: time.Hour, Run: heeds}}, 300*time.Millisecond)
		if got[0].Found != "ran into its deadline of 300ms" {
			t.Errorf("%+v", got)
		}
	})
}

func TestInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		got := Run(ctx, []Probe{{Name: "a", Timeout: time.Hour, Run: func(ctx context.Context) Check { <-ctx.Done(); return Check{} }}}, 0)
		if diff := cmp.Diff([]Check{{"a", NA, "interrupted", ""}}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestTidy(t *testing.T) {
	t.Parallel()
	p := Probe{Name: "x"}
	for name, test := range map[string]struct{ give, want Check }{
		"control characters": {warn("a\x1b[2Jb\r\nc\td", "run\x07 it\nthen that"), Check{"x", Warn, "a [2Jb c d", "run  it\nthen that"}},
		"long":               {ok(strings.Repeat("é", longText+5)), Check{"x", OK, strings.Repeat("é", longText-1) + "…", ""}},
		"nothing":            {Check{}, Check{"x", Fail, "the check came to nothing", "report this: it is a fault of assay"}},
		"not UTF-8":          {ok("a\xffb"), Check{"x", OK, "a\ufffdb", ""}},
	} {
		if diff := cmp.Diff(test.want, p.tidy(test.give)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
