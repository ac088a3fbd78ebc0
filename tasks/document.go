package tasks

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Table is a TOML table that is read key by key. What is wrong with it goes to a
// list of faults with file and line, so that a reader learns everything at once.
type Table struct {
	file   string
	path   string // "metadata.assay", "check[2]"; empty: the document
	values map[string]any
	lines  map[string]int // of every table and key, by path
	faults *Faults
	read   map[string]bool
}

// ParseTable parses a TOML document. Faults found here and by the table's methods
// are appended to faults; a document that is no TOML gives an empty table.
func ParseTable(file string, data []byte, faults *Faults) *Table {
	t := &Table{file: file, values: map[string]any{}, lines: map[string]int{}, faults: faults, read: map[string]bool{}}
	if !utf8.Valid(data) {
		faults.Add(file, 0, "not valid UTF-8")
		return t
	}
	if err := toml.Unmarshal(data, &t.values); err != nil {
		line := 0
		if bad := (*toml.DecodeError)(nil); errors.As(err, &bad) {
			line, _ = bad.Position()
		}
		faults.Add(file, line, "%s", strings.TrimPrefix(err.Error(), "toml: "))
		t.values = map[string]any{}
		return t
	}
	t.lines = positions(data)
	return t
}

// Line returns the line of a key, or of the nearest table that holds it.
func (t *Table) Line(key string) int { return t.lineOf(join(t.path, key)) }

func (t *Table) lineOf(path string) int {
	for path != "" {
		if line, ok := t.lines[path]; ok {
			return line
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return 0
}

// Fault notes a fault at a key of the table; an empty key is the table itself.
func (t *Table) Fault(key, format string, args ...any) {
	path := join(t.path, key)
	if key == "" {
		path = t.path
	}
	t.faults.Add(t.file, t.lineOf(path), format, args...)
}

// Has reports whether the key is there.
func (t *Table) Has(key string) bool { _, ok := t.values[key]; return ok }

// value returns a value of the wanted kind, noting a fault where it is of another
// or missing though required.
func value[T any](t *Table, key, kind string, required bool) (T, bool) {
	var none T
	t.read[key] = true
	raw, ok := t.values[key]
	if !ok {
		if required {
			t.Fault("", "%s is missing", join(t.path, key))
		}
		return none, false
	}
	v, ok := raw.(T)
	if !ok {
		t.Fault(key, "%s must be %s", join(t.path, key), kind)
	}
	return v, ok
}

// Required returns a text that must be there and not be empty.
func (t *Table) Required(key string) string {
	s, ok := value[string](t, key, "a string", true)
	if ok && strings.TrimSpace(s) == "" {
		t.Fault(key, "%s is empty", join(t.path, key))
	}
	return s
}

// Optional returns a text, or "".
func (t *Table) Optional(key string) string {
	s, _ := value[string](t, key, "a string", false)
	return s
}

// Positive returns a whole number above zero that must be there.
func (t *Table) Positive(key string) int64 {
	n, ok := value[int64](t, key, "a whole number", true)
	if ok && n <= 0 {
		t.Fault(key, "%s must be above zero, is %d", join(t.path, key), n)
	}
	return n
}

// Strings returns a list of texts, nil where it is absent.
func (t *Table) Strings(key string, required bool) []string {
	list, _ := value[[]any](t, key, "a list of strings", required)
	var texts []string
	for _, raw := range list {
		s, ok := raw.(string)
		if !ok {
			t.Fault(key, "%s must be a list of strings", join(t.path, key))
			return nil
		}
		texts = append(texts, s)
	}
	return texts
}

// Values returns a free table, nil where it is absent.
func (t *Table) Values(key string) map[string]any {
	v, _ := value[map[string]any](t, key, "a table", false)
	return v
}

// Table returns the table at key. A required one that is absent is one fault, and
// what it should hold is not missed as well.
func (t *Table) Table(key string, required bool) *Table {
	values, ok := value[map[string]any](t, key, "a table", required)
	sub := t.sub(join(t.path, key), values)
	if !ok && (required || t.Has(key)) {
		sub.faults = new(Faults)
	}
	return sub
}

// Tables returns the tables of an array of tables.
func (t *Table) Tables(key string) []*Table {
	list, _ := value[[]any](t, key, "an array of tables", false)
	var tables []*Table
	for i, raw := range list {
		path := fmt.Sprintf("%s[%d]", join(t.path, key), i)
		values, ok := raw.(map[string]any)
		if !ok {
			t.Fault(key, "%s must be a table", path)
			continue
		}
		tables = append(tables, t.sub(path, values))
	}
	return tables
}

func (t *Table) sub(path string, values map[string]any) *Table {
	return &Table{file: t.file, path: path, values: values, lines: t.lines, faults: t.faults, read: map[string]bool{}}
}

// Unread returns the keys that no method asked for, sorted.
func (t *Table) Unread() []string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(t.values)) {
		if !t.read[key] {
			keys = append(keys, key)
		}
	}
	return keys
}

// Strict notes a fault for every key that no method asked for.
func (t *Table) Strict() {
	for _, key := range t.Unread() {
		t.Fault(key, "unknown key %s", join(t.path, key))
	}
}

func join(path, key string) string {
	if path == "" || key == "" {
		return path + key
	}
	return path + "." + key
}

// positions maps the path of every table and key of a valid document to its line.
func positions(data []byte) map[string]int {
	var p unstable.Parser
	p.Reset(data)
	lines, counts := map[string]int{}, map[string]int{}
	prefix := ""
	for p.NextExpression() {
		e := p.Expression()
		path, line := "", 0
		if e.Kind == unstable.KeyValue {
			path = prefix
		}
		for it := e.Key(); it.Next(); {
			key := it.Node()
			line = 1 + bytes.Count(data[:key.Raw.Offset], []byte("\n"))
			// A further header [a.b] below [[a]] belongs to the last element of a.
			if n := counts[path]; n > 0 && path != prefix {
				path = fmt.Sprintf("%s[%d]", path, n-1)
			}
			path = join(path, string(key.Data))
			if _, ok := lines[path]; !ok {
				lines[path] = line
			}
		}
		switch e.Kind {
		case unstable.ArrayTable:
			counts[path]++
			prefix = fmt.Sprintf("%s[%d]", path, counts[path]-1)
			lines[prefix] = line
		case unstable.Table:
			prefix = path
			lines[path] = line
		}
	}
	return lines
}
