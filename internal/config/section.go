package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxNameRunes = 64
	longest      = 48 // characters of the file that one message repeats
)

// loader collects what one Load finds.
type loader struct {
	file, base string
	known      Known
	faults     Faults
	settings   []Setting
}

func (l *loader) fault(line int, table, key, message string) {
	l.faults = append(l.faults, Fault{File: l.file, Line: line, Table: table, Key: key, Message: message})
}

// at is the origin of a value that the file sets.
func (l *loader) at(n *node) string { return fmt.Sprintf("%s:%d", l.base, n.line) }

const byDefault = "default"

// section reads one table of the file. The table may be absent: then every key
// has its default.
type section struct {
	l      *loader
	n      *node  // nil: absent
	label  string // "[coding.limits]", for faults and for keysOf
	prefix string // "coding.limits.", for settings
	line   int    // of the table, or of the nearest one around it
}

// sub returns the table inside s that has its own table of keys, and refuses
// unknown keys in it.
func (s section) sub(key string) section {
	c := section{l: s.l, label: "[" + s.prefix + key + "]", prefix: s.prefix + key + ".", line: s.line}
	if s.label == "[[arm]]" {
		c.label = "[arm." + key + "]"
	}
	n := s.get(key)
	if n == nil {
		return c
	}
	c.line = n.line
	if n.kind != kindTable {
		s.wrongType(key, n, "a table, written "+c.label)
		return c
	}
	c.n = n
	c.known()
	return c
}

// known lists a fault for every key that the table does not have.
func (s section) known() {
	if s.n == nil {
		return
	}
	shape := s.label
	if strings.HasPrefix(shape, "[rig.") {
		shape = "[rig.NAME]"
	}
	keys := keysOf()[shape]
	for _, k := range s.n.keys {
		if !slices.Contains(keys, k) {
			s.l.fault(s.n.table[k].line, s.label, printable(k), "unknown key"+hint(shape, k))
		}
	}
}

func (s section) get(key string) *node {
	if s.n == nil {
		return nil
	}
	return s.n.table[key]
}

func (s section) faultAt(n *node, key, message string) {
	s.l.fault(n.line, s.label, key, message)
}

func (s section) wrongType(key string, n *node, want string) {
	if n.kind != kindBroken {
		s.faultAt(n, key, "must be "+want+", is "+describe(n))
	}
}

func (s section) setting(key, value, origin string) {
	s.l.settings = append(s.l.settings, Setting{Key: s.prefix + key, Value: value, Origin: origin})
}

// integer reads a whole number from lo to hi.
func (s section) integer(key string, lo, hi, def int64) (int64, *node) {
	n := s.get(key)
	if n == nil {
		s.setting(key, strconv.FormatInt(def, 10), byDefault)
		return def, nil
	}
	if !s.whole(key, n, lo, hi) {
		return def, nil
	}
	s.setting(key, strconv.FormatInt(n.num, 10), s.l.at(n))
	return n.num, n
}

// whole reports whether a value is a whole number from lo to hi, and lists a
// fault where it is not.
func (s section) whole(key string, n *node, lo, hi int64) bool {
	switch {
	case n.kind != kindInt:
		s.wrongType(key, n, "a whole number")
	case n.num < lo:
		s.faultAt(n, key, fmt.Sprintf("must be at least %d, is %d", lo, n.num))
	case n.num > hi:
		s.faultAt(n, key, fmt.Sprintf("must be at most %d, is %d", hi, n.num))
	default:
		return true
	}
	return false
}

// number reports whether a value is a finite number from lo to hi, and lists a
// fault where it is not.
func (s section) number(key string, n *node, lo, hi float64) bool {
	switch {
	case n.kind != kindInt && n.kind != kindFloat:
		s.wrongType(key, n, "a number")
	case math.IsNaN(n.float) || math.IsInf(n.float, 0):
		s.faultAt(n, key, "must be a finite number, is "+cut(n.raw))
	case n.float < lo:
		s.faultAt(n, key, fmt.Sprintf("must be at least %v, is %s", lo, cut(n.raw)))
	case n.float > hi:
		s.faultAt(n, key, fmt.Sprintf("must be at most %v, is %s", hi, cut(n.raw)))
	default:
		return true
	}
	return false
}

func (s section) boolean(key string, def bool) (bool, *node) {
	n := s.get(key)
	if n == nil {
		s.setting(key, strconv.FormatBool(def), byDefault)
		return def, nil
	}
	if n.kind != kindBool {
		s.wrongType(key, n, "true or false")
		return def, nil
	}
	s.setting(key, strconv.FormatBool(n.flag), s.l.at(n))
	return n.flag, n
}

// choice reads one of a closed set of words; the first is the default.
func (s section) choice(key string, words ...string) (string, *node) {
	n := s.get(key)
	if n == nil {
		s.setting(key, words[0], byDefault)
		return words[0], nil
	}
	if n.kind != kindString || !slices.Contains(words, n.str) {
		s.wrongType(key, n, "one of "+strings.Join(words, ", "))
		return words[0], nil
	}
	s.setting(key, n.str, s.l.at(n))
	return n.str, n
}

// optionalString reads a string that has no default; a nil node means that
// there is none to use.
func (s section) optionalString(key string) (string, *node) {
	n := s.get(key)
	if n == nil {
		return "", nil
	}
	if n.kind != kindString {
		s.wrongType(key, n, "a string")
		return "", nil
	}
	if n.str == "" {
		s.faultAt(n, key, "is empty; leave the key out instead")
		return "", nil
	}
	return n.str, n
}

// describe names a value for people, never at length.
func describe(n *node) string {
	switch n.kind {
	case kindTable:
		return "a table"
	case kindList:
		return "a list"
	case kindString:
		return clip(n.str)
	case kindDate:
		return "a date or time"
	}
	return cut(n.raw)
}

// cut shortens a text that needs no quotes to a length that fits a message.
func cut(s string) string {
	if r := []rune(s); len(r) > longest {
		return string(r[:longest]) + "…"
	}
	return s
}

// clip quotes a text of the file and cuts it to a length that fits a message.
func clip(s string) string {
	if r := []rune(s); len(r) > longest {
		return strconv.Quote(string(r[:longest])) + "…"
	}
	return strconv.Quote(s)
}

// printable returns a key as it is, or quoted and cut where a terminal would
// not show it as it is.
func printable(s string) string {
	if utf8.RuneCountInString(s) <= 200 && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) && s != "" {
		return s
	}
	return clip(s)
}

// badName says why a text cannot be a name that tables and file names show, or "".
func badName(s string) string {
	switch n := utf8.RuneCountInString(s); {
	case n == 0:
		return "is empty"
	case n > maxNameRunes:
		return fmt.Sprintf("must have at most %d characters, has %d", maxNameRunes, n)
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "must not have control or invisible characters, is " + clip(s)
	case strings.TrimSpace(s) != s:
		return "must not begin or end with a space, is " + clip(s)
	}
	return ""
}
