package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"assay/internal/bench"
)

// arguments are the decoded fields of a call that its tool knows.
type arguments struct {
	text    map[string]string
	integer map[string]int64
	unknown []string // fields that the tool does not know, sorted
}

// fault says what is wrong with a call, for the model.
type fault struct {
	bad  bench.BadCall
	text string
}

// decode reads the arguments of a call. Nothing is repaired: text that is not one
// JSON object is refused. Only arguments without any text count as an object
// without fields, because servers write them so for a call without arguments.
func (t tool) decode(raw string) (arguments, *fault) {
	args := arguments{text: map[string]string{}, integer: map[string]int64{}}
	object := map[string]json.RawMessage{}
	if strings.TrimSpace(raw) != "" {
		var whole json.RawMessage
		if err := json.Unmarshal([]byte(raw), &whole); err != nil {
			return args, &fault{bench.BadJSON, fmt.Sprintf("the arguments are not valid JSON (%s). Nothing was run. "+
				"Make the call again with one JSON object: %s.", clip(err.Error()), t.usage())}
		}
		if kind := jsonKind(whole); kind != "an object" {
			return args, &fault{bench.BadNotObject, fmt.Sprintf("the arguments are %s, not a JSON object. Nothing was run. "+
				"Make the call again with one JSON object: %s.", kind, t.usage())}
		}
		if err := json.Unmarshal(whole, &object); err != nil {
			return args, &fault{bench.BadJSON, fmt.Sprintf("the arguments cannot be read (%s). Nothing was run. "+
				"Make the call again with one JSON object: %s.", clip(err.Error()), t.usage())}
		}
	}
	for _, f := range t.fields {
		value, ok := object[f.name]
		delete(object, f.name)
		if ok && !f.required && jsonKind(value) == "null" {
			continue
		}
		switch {
		case !ok && f.required:
			return args, &fault{bench.BadMissingField, fmt.Sprintf("the field %q is missing. Nothing was run. "+
				"Make the call again with one JSON object: %s.", f.name, t.usage())}
		case ok && !args.set(f, value):
			return args, &fault{bench.BadMissingField, fmt.Sprintf("the field %q must be %s, but is %s. Nothing was run. "+
				"Make the call again with one JSON object: %s.", f.name, article(f.kind), jsonKind(value), t.usage())}
		}
	}
	for name := range object {
		args.unknown = append(args.unknown, name)
	}
	slices.Sort(args.unknown)
	return args, nil
}

// set stores a field and reports whether the value has the field's type. A number
// counts as an integer when it is one in value (3, 3.0).
func (a arguments) set(f field, value json.RawMessage) bool {
	switch {
	case f.kind == kindString && jsonKind(value) == "a string":
		var s string
		if json.Unmarshal(value, &s) != nil {
			return false
		}
		a.text[f.name] = s
		return true
	case f.kind == kindInteger && jsonKind(value) == "a number":
		if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
			a.integer[f.name] = n
			return true
		}
		x, err := strconv.ParseFloat(string(value), 64)
		if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
			return false
		}
		a.integer[f.name] = int64(x)
		return true
	}
	return false
}

// usage shows the arguments that a tool takes; optional ones have a question mark.
func (t tool) usage() string {
	if len(t.fields) == 0 {
		return "{}"
	}
	var parts []string
	for _, f := range t.fields {
		name := f.name
		if !f.required {
			name += "?"
		}
		parts = append(parts, fmt.Sprintf("%q: %s", name, f.kind))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// replayable returns arguments that any server can parse when they come back in
// the history: the model's own text where it is safe, else the known fields
// encoded anew. Other parsers refuse lone surrogates, broken UTF-8 and numbers
// beyond a float64, which ours accepts.
func (a arguments) replayable(raw string) string {
	if strings.TrimSpace(raw) == "" {
		return "{}"
	}
	var whole map[string]any
	if utf8.ValidString(raw) && !escapesSurrogate(raw) && json.Unmarshal([]byte(raw), &whole) == nil && whole != nil {
		return raw
	}
	known := map[string]any{}
	for name, s := range a.text {
		known[name] = s
	}
	for name, n := range a.integer {
		known[name] = n
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(known) != nil {
		return "{}" // strings and integers always encode
	}
	return strings.TrimRight(b.String(), "\n")
}

func escapesSurrogate(raw string) bool {
	lower := strings.ToLower(raw)
	for _, prefix := range []string{`\ud8`, `\ud9`, `\uda`, `\udb`, `\udc`, `\udd`, `\ude`, `\udf`} {
		if strings.Contains(lower, prefix) {
			return true
		}
	}
	return false
}

func article(k kind) string {
	if k == kindInteger {
		return "an integer"
	}
	return "a " + string(k)
}

func jsonKind(raw json.RawMessage) string {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	if len(trimmed) == 0 {
		return "empty"
	}
	switch trimmed[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
