package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The short way reads every recording as the long way does, and is taken.
func TestPatternChangesNothing(t *testing.T) {
	for _, r := range load(t) {
		if r.Status != 200 {
			continue
		}
		long := NewParser(Limits{})
		long.chat.last.off = true
		want, wantErr := feed(long, [][]byte{r.Body})
		got, gotErr := feed(NewParser(Limits{}), [][]byte{r.Body})
		if diff := cmp.Diff(want, got); diff != "" || (wantErr == nil) != (gotErr == nil) {
			t.Errorf("%s: %v, %v\n%s", r.Name, wantErr, gotErr, diff)
		}
	}
}

func TestPatternMatches(t *testing.T) {
	for _, tt := range []struct {
		name, first, second string
		match               bool
	}{
		{"content", delta(`{"content":"a"}`), delta(`{"content":"\n\"é"}`), true},
		{"empty content", delta(`{"content":"a"}`), delta(`{"content":""}`), true},
		{"reasoning beside nulls", delta(`{"role":null,"content":null,"reasoning_content":"a"}`), delta(`{"role":null,"content":null,"reasoning_content":"b"}`), true},
		{"arguments", delta(`{"tool_calls":[{"index":0,"function":{"arguments":"a"}}]}`), delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\""}}]}`), true},
		{"another index", delta(`{"tool_calls":[{"index":0,"function":{"arguments":"a"}}]}`), delta(`{"tool_calls":[{"index":1,"function":{"arguments":"b"}}]}`), false},
		{"a second field smuggled in", delta(`{"content":"a"}`), delta(`{"content":"b","reasoning":"c"}`), false},
		{"a bad escape", delta(`{"content":"a"}`), delta(`{"content":"\x"}`), false},
		{"a control character", delta(`{"content":"a"}`), delta("{\"content\":\"\x01\"}"), false},
		{"the key twice", delta(`{"content":"a","Content":"a"}`), delta(`{"content":"b","Content":"a"}`), false},
		{"the key with an escape", delta(`{"content":"a","\u0063ontent":"a"}`), delta(`{"content":"b","\u0063ontent":"a"}`), false},
	} {
		var a assembly
		a.maxCalls = 8
		strip := func(s string) []byte { return []byte(s[len("data: ") : len(s)-2]) }
		if err := a.event(strip(tt.first), 0); err != nil {
			t.Fatal(err)
		}
		if _, ok := a.last.match(strip(tt.second)); ok != tt.match {
			t.Errorf("%s: match %v", tt.name, ok)
		}
	}
}
