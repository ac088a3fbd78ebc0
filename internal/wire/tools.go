package wire

import (
	"sort"
	"strings"

	"assay/internal/bench"
)

// tools assembles tool calls from their parts. A part belongs to the call of its
// index. Servers that leave the index out, or give every call the same one, are
// read by their ids: a new id opens a new call.
type tools struct {
	calls []*call
}

type call struct {
	index     int
	id        string
	name      strings.Builder
	arguments strings.Builder
}

// add takes one part. It reports whether the part brought anything, and false
// where it would open a call over the limit.
func (t *tools) add(p *toolCall, limit int) (some, ok bool) {
	name, args := p.Function.Name, string(p.Function.Arguments)
	if p.ID == "" && name == "" && args == "" {
		return false, true
	}
	c := t.find(p)
	if c == nil {
		if len(t.calls) >= limit {
			return false, false
		}
		c = &call{index: len(t.calls)}
		if p.Index != nil {
			c.index = *p.Index
		}
		t.calls = append(t.calls, c)
	}
	if c.id == "" {
		c.id = p.ID
	}
	if name != c.name.String() { // some servers repeat the name in every part
		c.name.WriteString(name)
	}
	c.arguments.WriteString(args)
	return true, true
}

// find returns the open call that a part continues, or nil.
func (t *tools) find(p *toolCall) *call {
	for i := len(t.calls) - 1; i >= 0; i-- {
		c := t.calls[i]
		if p.Index != nil && c.index != *p.Index {
			continue
		}
		if p.ID != "" && c.id != "" && p.ID != c.id {
			if p.Index != nil {
				return nil
			}
			continue
		}
		if p.Index == nil && p.ID == "" && p.Function.Name != "" {
			return nil
		}
		return c
	}
	return nil
}

// list returns the calls by index, those of one index in the order in which they
// came.
func (t *tools) list() []bench.ToolCall {
	if len(t.calls) == 0 {
		return nil
	}
	sorted := append([]*call{}, t.calls...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].index < sorted[j].index })
	out := make([]bench.ToolCall, len(sorted))
	for i, c := range sorted {
		out[i] = bench.ToolCall{ID: c.id, Name: c.name.String(), Arguments: c.arguments.String()}
	}
	return out
}
