package tasks_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/tasks"
)

func TestTableLines(t *testing.T) {
	var faults tasks.Faults
	doc := tasks.ParseTable("f.toml", []byte(`
name = 3
[[check]]
id = "a"
[[check]]
id = ""
odd = 1
[check.more]
x = -1
[limits]
"wall seconds" = 1
dotted.key = "x"
inline = { n = "x" }
list = [1]
`), &faults)
	doc.Required("name")
	for _, c := range doc.Tables("check") {
		c.Required("id")
		if c.Has("more") {
			c.Table("more", true).Positive("x")
		}
		c.Strict()
	}
	l := doc.Table("limits", true)
	l.Positive("processes")
	l.Table("dotted", true).Positive("key")
	l.Table("inline", true).Positive("n")
	l.Table("absent", true)
	l.Strings("list", true)
	l.Strict()
	doc.Table("other", false).Optional("x")
	doc.Strict()
	var got []string
	for _, f := range faults {
		got = append(got, f.String())
	}
	want := []string{
		"f.toml:2: name must be a string",
		"f.toml:6: check[1].id is empty",
		"f.toml:9: check[1].more.x must be above zero, is -1",
		"f.toml:7: unknown key check[1].odd",
		"f.toml:10: limits.processes is missing",
		"f.toml:12: limits.dotted.key must be a whole number",
		"f.toml:13: limits.inline.n must be a whole number",
		"f.toml:10: limits.absent is missing",
		"f.toml:14: limits.list must be a list of strings",
		"f.toml:11: unknown key limits.wall seconds",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func FuzzParseTable(f *testing.F) {
	for _, text := range []string{"a = 1\n", "[[a]]\nb.c = 'x'\n[a.d]\n[[a.d.e]]\n", "[a]\nb = {c = [1, {d = 2}]}\n", "x = \"\"\"\n[y]\n\"\"\"\n", "\xff"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var faults tasks.Faults
		doc := tasks.ParseTable("f", data, &faults)
		for _, key := range doc.Unread() {
			if len(faults) > 0 {
				t.Fatalf("key %q of a document with faults: %v", key, faults)
			}
			if line := doc.Line(key); line < 1 {
				t.Fatalf("key %q of %q has line %d", key, data, line)
			}
		}
	})
}
