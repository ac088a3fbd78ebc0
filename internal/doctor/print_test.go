package doctor

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestText(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	err := WriteText(&b, []Check{
		{"bwrap", OK, "bubblewrap 0.8.0", ""},
		{"file descriptors", Warn, "1024 may be open at once (hard limit 1024); 1000 streams need 2200", "ulimit -n 4096\nor: LimitNOFILE=4096"},
		{"disk", Fail, "/" + strings.Repeat("d", 60), "c"},
		{"amd", NA, "", ""},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `ok    bwrap             bubblewrap 0.8.0
warn  file descriptors  1024 may be open at once (hard limit 1024); 1000 streams
                        need 2200
      -> ulimit -n 4096
         or: LimitNOFILE=4096
fail  disk              /` + strings.Repeat("d", 55) + `
                        ddddd
      -> c
n/a   amd
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func FuzzTextIsNarrow(f *testing.F) {
	f.Add("a b", "  indented\n\nand a "+strings.Repeat("long word ", 30)+strings.Repeat("x", 200))
	f.Add(strings.Repeat("ü", 100), "")
	f.Fuzz(func(t *testing.T, found, cure string) {
		var b strings.Builder
		c := Probe{Name: "seventeen letters"}.tidy(Check{State: Fail, Found: found, Cure: cure})
		if err := WriteText(&b, []Check{c}); err != nil {
			t.Fatal(err)
		}
		letters := func(s string) string { return strings.Join(strings.Fields(s), "") }
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > textWidth {
				t.Errorf("%d columns: %q", n, line)
			}
		}
		arrow := ""
		if c.Cure != "" {
			arrow = "->"
		}
		if got, want := letters(b.String()), letters("fail seventeen letters"+c.Found+arrow+c.Cure); got != want {
			t.Errorf("wrapping lost something: %q, want %q", got, want)
		}
	})
}

func TestJSON(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := WriteJSON(&b, []Check{{"a", Warn, "x < y", "z"}}); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"schema": 1.0, "checks": []any{map[string]any{"name": "a", "state": "warn", "found": "x < y", "cure": "z"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
