package scripted

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// loader collects the faults of a profile file while it is turned into profiles.
type loader struct {
	read     func(name string) ([]byte, error)
	lines    map[string]int
	mistyped map[string]bool
	faults   []FileFault
}

// add notes a fault of the key at path.
func (l *loader) add(path, format string, args ...any) {
	key := path[strings.LastIndex(path, ".")+1:]
	if i := strings.IndexByte(key, '['); i > 0 {
		key = key[:i]
	}
	l.faults = append(l.faults, FileFault{l.line(path), key + " " + fmt.Sprintf(format, args...)})
}

// line finds the line of a key, else that of the nearest table around it.
func (l *loader) line(path string) int {
	for {
		if n, ok := l.lines[path]; ok {
			return n
		}
		i := strings.LastIndexAny(path, ".[")
		if i < 0 {
			return 1
		}
		path = path[:i]
	}
}

// value returns a decoded value as T, or T's zero where it is absent. A value of
// another type is a fault. Integers pass as floats.
func value[T string | int | float64 | bool | map[string]any](l *loader, path string, v any) T {
	var zero T
	if v == nil {
		return zero
	}
	if n, ok := v.(int64); ok {
		switch any(zero).(type) {
		case int:
			v = int(n)
		case float64:
			v = float64(n)
		}
	}
	t, ok := v.(T)
	if !ok {
		l.wrongType(path, map[string]string{
			"string": "a string", "int": "an integer", "float64": "a number", "bool": "true or false",
		}[fmt.Sprintf("%T", zero)], v)
	}
	return t
}

func (l *loader) integers(path string, v any) []int64 {
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		l.wrongType(path, "a list of integers", v)
		return nil
	}
	var out []int64
	for i, e := range list {
		n, ok := e.(int64)
		if !ok {
			l.wrongType(fmt.Sprintf("%s[%d]", path, i), "a list of integers", e)
			continue
		}
		out = append(out, n)
	}
	return out
}

func (l *loader) wrongType(path, want string, got any) {
	if want == "" {
		want = "a table"
	}
	l.add(path, "must be %s, but has %v", want, clip(fmt.Sprint(got)))
	if l.mistyped == nil {
		l.mistyped = map[string]bool{}
	}
	l.mistyped[path] = true
}

// keyLines maps the path of every key and table of a document, such as
// profile[0].program[1].name, to its line.
func keyLines(data []byte) map[string]int {
	var p unstable.Parser
	p.Reset(data)
	w := &lineWalker{lines: map[string]int{}, count: map[string]int{}}
	for i, c := range data {
		if c == '\n' {
			w.breaks = append(w.breaks, i)
		}
	}
	for p.NextExpression() {
		switch n := p.Expression(); n.Kind {
		case unstable.Table, unstable.ArrayTable:
			w.table = w.header(n)
		case unstable.KeyValue:
			w.keyValue(w.table, n)
		}
	}
	return w.lines
}

type lineWalker struct {
	breaks []int // offsets of the line ends
	lines  map[string]int
	count  map[string]int // elements so far of each array of tables
	table  string         // path of the table whose keys are being read
}

func (w *lineWalker) note(path string, key *unstable.Node) {
	if _, ok := w.lines[path]; !ok {
		before, _ := slices.BinarySearch(w.breaks, int(key.Raw.Offset))
		w.lines[path] = before + 1
	}
}

// header resolves the key of a [table] or [[array]] line.
func (w *lineWalker) header(n *unstable.Node) string {
	path := ""
	for it := n.Key(); it.Next(); {
		path = join(path, string(it.Node().Data))
		if it.IsLast() && n.Kind == unstable.ArrayTable {
			w.count[path]++
		}
		w.note(path, it.Node())
		if c := w.count[path]; c > 0 {
			path = fmt.Sprintf("%s[%d]", path, c-1)
			w.note(path, it.Node())
		}
	}
	return path
}

func (w *lineWalker) keyValue(table string, n *unstable.Node) {
	path := table
	var key *unstable.Node
	for it := n.Key(); it.Next(); {
		key = it.Node()
		path = join(path, string(key.Data))
		w.note(path, key)
	}
	w.value(path, key, n.Value())
}

func (w *lineWalker) value(path string, key, v *unstable.Node) {
	switch v.Kind {
	case unstable.InlineTable:
		for it := v.Children(); it.Next(); {
			w.keyValue(path, it.Node())
		}
	case unstable.Array:
		i := 0
		for it := v.Children(); it.Next(); {
			w.value(fmt.Sprintf("%s[%d]", path, i), key, it.Node())
			i++
		}
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
