package config

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

const (
	keyParts = 32     // of a dotted key or table name; the deepest of ours has three
	maxKeys  = 10_000 // of a file; the library's check for redefinition takes their square
)

type kind int

const (
	kindTable kind = iota
	kindList
	kindString
	kindInt
	kindFloat
	kindBool
	kindDate
	kindBroken // a number that does not fit; its fault is already listed
)

// node is a value of the file with the line on which its key (in a list: the
// value) stands.
type node struct {
	kind  kind
	line  int
	raw   string // scalars but strings: as written
	str   string
	num   int64
	float float64
	flag  bool
	items []*node          // list
	keys  []string         // table: keys in the order of the file
	table map[string]*node // table

	header  bool // table: has a [header] of its own
	headers bool // list: made of [[headers]]
}

func newTable(line int) *node { return &node{kind: kindTable, line: line, table: map[string]*node{}} }

func (n *node) put(key string, child *node) {
	n.keys = append(n.keys, key)
	n.table[key] = child
}

// tree builds the nodes of one file.
type tree struct {
	parser unstable.Parser
	starts []int // offsets at which lines begin
	fault  func(line int, key, message string)
	broken bool
	keys   int // seen so far
	line   int // of the last of them
}

// parse returns the root table of a TOML document. Whatever is not TOML goes to
// fault; after a fault of syntax there is no root.
func parse(data []byte, fault func(line int, key, message string)) *node {
	t := &tree{starts: []int{0}}
	t.fault = func(line int, key, message string) {
		t.broken = true
		fault(line, key, message)
	}
	for i, c := range data {
		if c == '\n' {
			t.starts = append(t.starts, i+1)
		}
	}
	t.parser.Reset(data)
	root := newTable(1)
	at := root
	for t.parser.NextExpression() {
		e := t.parser.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			at = t.open(root, e)
		case unstable.KeyValue:
			t.set(at, e)
		}
		if t.keys > maxKeys {
			t.fault(t.line, "", fmt.Sprintf("the file has more than %d keys and tables", maxKeys))
			return nil
		}
	}
	if err := t.parser.Error(); err != nil {
		t.syntax(err)
		return nil
	}
	if !t.broken {
		// The library knows the finer rules of redefinition. It reports one
		// breach at a time, which is why ours are looked for first.
		var all map[string]any
		if err := toml.Unmarshal(data, &all); err != nil {
			t.syntax(err)
		}
	}
	return root
}

func (t *tree) syntax(err error) {
	var inParser *unstable.ParserError
	var inDecoder *toml.DecodeError
	switch {
	case errors.As(err, &inParser):
		line := t.lineAt(int(t.parser.Range(inParser.Highlight).Offset))
		t.fault(line, "", "not valid TOML: "+printable(inParser.Message))
	case errors.As(err, &inDecoder):
		line, _ := inDecoder.Position()
		t.fault(line, "", "not valid TOML: "+printable(strings.TrimPrefix(inDecoder.Error(), "toml: ")))
	default:
		t.fault(1, "", "not valid TOML: "+printable(err.Error()))
	}
}

func (t *tree) lineAt(offset int) int {
	return sort.Search(len(t.starts), func(i int) bool { return t.starts[i] > offset })
}

// path returns the parts of a key and its line, and counts the key.
func (t *tree) path(it unstable.Iterator) (parts []string, line int) {
	t.keys++
	for it.Next() {
		k := it.Node()
		if line == 0 {
			line = t.lineAt(int(k.Raw.Offset))
		}
		parts = append(parts, string(k.Data))
	}
	t.line = line
	if t.keys > maxKeys {
		return nil, line
	}
	if len(parts) > keyParts {
		t.fault(line, "", fmt.Sprintf("a key has at most %d parts, this one has %d", keyParts, len(parts)))
		return nil, line
	}
	return parts, line
}

// open returns the table that a header begins. A header that cannot be placed
// gets a table that nobody reads.
func (t *tree) open(root *node, e *unstable.Node) *node {
	parts, line := t.path(e.Key())
	if len(parts) == 0 {
		return newTable(line)
	}
	last := parts[len(parts)-1]
	parent := t.descend(root, parts[:len(parts)-1], line)
	if parent == nil {
		return newTable(line)
	}
	old := parent.table[last]
	name := strings.Join(parts, ".")
	fresh := newTable(line)
	fresh.header = true
	switch {
	case e.Kind == unstable.ArrayTable && old == nil:
		parent.put(last, &node{kind: kindList, line: line, headers: true, items: []*node{fresh}})
		return fresh
	case e.Kind == unstable.ArrayTable && old.headers:
		old.items = append(old.items, fresh)
		return fresh
	case e.Kind == unstable.Table && old == nil:
		parent.put(last, fresh)
		return fresh
	case e.Kind == unstable.Table && old.kind == kindTable && !old.header:
		old.header = true
		return old
	}
	t.fault(line, "", fmt.Sprintf("table %s is already defined on line %d", clip(name), old.line))
	if old.kind == kindTable {
		return old
	}
	return fresh
}

func (t *tree) set(at *node, e *unstable.Node) {
	parts, line := t.path(e.Key())
	if len(parts) == 0 {
		return
	}
	parent := t.descend(at, parts[:len(parts)-1], line)
	if parent == nil {
		return
	}
	last := parts[len(parts)-1]
	value := t.value(e.Value(), line)
	if old := parent.table[last]; old != nil {
		t.fault(line, printable(strings.Join(parts, ".")), fmt.Sprintf("is already set on line %d", old.line))
		return
	}
	parent.put(last, value)
}

// descend walks and makes the tables of a dotted path; nil: something else is
// in the way, and said so.
func (t *tree) descend(at *node, parts []string, line int) *node {
	for _, part := range parts {
		next := at.table[part]
		switch {
		case next == nil:
			next = newTable(line)
			at.put(part, next)
		case next.headers:
			next = next.items[len(next.items)-1]
		case next.kind != kindTable:
			t.fault(line, printable(part), fmt.Sprintf("is a value on line %d, so it cannot be a table here", next.line))
			return nil
		}
		at = next
	}
	return at
}

func (t *tree) value(v *unstable.Node, line int) *node {
	n := &node{line: line, raw: string(v.Data)}
	switch v.Kind {
	case unstable.String:
		n.kind, n.str = kindString, string(v.Data)
	case unstable.Bool:
		n.kind, n.flag = kindBool, n.raw == "true"
	case unstable.Integer:
		t.number(n, kindInt)
	case unstable.Float:
		t.number(n, kindFloat)
	case unstable.Array:
		n.kind = kindList
		it := v.Children()
		for it.Next() {
			item := it.Node()
			if item.Kind == unstable.Comment {
				continue
			}
			n.items = append(n.items, t.value(item, t.itemLine(item, line)))
		}
	case unstable.InlineTable:
		n.kind, n.table, n.header = kindTable, map[string]*node{}, true
		it := v.Children()
		for it.Next() {
			if it.Node().Kind == unstable.KeyValue {
				t.set(n, it.Node())
			}
		}
	default:
		n.kind = kindDate
	}
	return n
}

// itemLine is the line of a list's item. Nested lists have no position of their
// own and take that of their first item, or the list's.
func (t *tree) itemLine(v *unstable.Node, line int) int {
	for v.Valid() && v.Kind == unstable.Array {
		v = v.Child()
	}
	if !v.Valid() || v.Raw.Length == 0 {
		return line
	}
	return t.lineAt(int(v.Raw.Offset))
}

func (t *tree) number(n *node, k kind) {
	digits := strings.ReplaceAll(n.raw, "_", "")
	var err error
	n.kind = k
	if k == kindInt {
		n.num, err = strconv.ParseInt(digits, 0, 64)
		n.float = float64(n.num)
	} else {
		n.float, err = strconv.ParseFloat(digits, 64)
		if errors.Is(err, strconv.ErrRange) && !math.IsInf(n.float, 0) {
			err = nil
		}
	}
	if err != nil {
		n.kind = kindBroken
		t.fault(n.line, "", fmt.Sprintf("number %s does not fit into 64 bits", cut(n.raw)))
	}
}
