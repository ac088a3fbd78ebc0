package bench

import (
	"strings"
	"testing"
)

func TestObservedChanged(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	base := Observed{Kind: "llama.cpp", Build: "b1", Model: "q4", ContextPerSlot: n(4096), Slots: n(1), TemplateDigest: "aa"}
	with := func(f func(*Observed)) Observed {
		o := base
		f(&o)
		return o
	}
	tests := []struct {
		name string
		now  Observed
		want string // part of the words; empty: no change
	}{
		{"the same", base, ""},
		{"nothing known", Observed{}, ""},
		{"unknown build", with(func(o *Observed) { o.Build = "" }), ""},
		{"unknown context", with(func(o *Observed) { o.ContextPerSlot = nil }), ""},
		{"path and list", with(func(o *Observed) { o.ModelPath = "/x"; o.Served = []string{"a"} }), ""},
		{"build", with(func(o *Observed) { o.Build = "b2" }), `"b1" and is "b2"`},
		{"model", with(func(o *Observed) { o.Model = "iq3" }), "the model"},
		{"template", with(func(o *Observed) { o.TemplateDigest = "bb" }), "template"},
		{"context", with(func(o *Observed) { o.ContextPerSlot = n(2048) }), "4096 and is 2048"},
		{"slots", with(func(o *Observed) { o.Slots = n(4) }), "slots"},
	}
	for _, tt := range tests {
		got := base.Changed(tt.now)
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
