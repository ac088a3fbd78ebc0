package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

const maxExtraDepth = 32

// ours lists the request fields that assay writes itself.
func ours(key string) (instead string, refused bool) {
	switch key {
	case "model":
		return "set model of the arm", true
	case "temperature", "top_p", "top_k", "min_p", "repeat_penalty", "presence_penalty":
		return "set it in [sampling] or [arm.sampling]", true
	case "max_tokens", "max_completion_tokens", "n_predict":
		return "set max_output_tokens in [coding.limits]", true
	case "messages", "prompt", "tools", "stream", "stream_options", "seed", "n":
		return "assay sets it", true
	case "api_key":
		return "name the variable that holds the key in key_env", true
	}
	return "", false
}

// extraBody turns a table into the JSON fields that go into every request.
func (l *loader) extraBody(c section) map[string]json.RawMessage {
	n := c.get("extra_body")
	if n == nil {
		return nil
	}
	if n.kind != kindTable {
		c.wrongType("extra_body", n, "a table")
		return nil
	}
	body := map[string]json.RawMessage{}
	var shown []string
	for _, key := range n.keys {
		v := n.table[key]
		name := "extra_body." + printable(key)
		if instead, refused := ours(key); refused {
			c.faultAt(v, name, "cannot be set here: "+instead)
			continue
		}
		value, at, err := jsonValue(v, maxExtraDepth)
		if err != nil {
			c.faultAt(at, name, err.Error())
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			c.faultAt(v, name, "cannot be written as JSON: "+err.Error())
			continue
		}
		body[key] = text
		shown = append(shown, printable(key)+"="+string(text))
	}
	slices.Sort(shown)
	c.setting("extra_body", strings.Join(shown, " "), l.at(n))
	return body
}

// jsonValue converts a value; on an error the node says where it is.
func jsonValue(n *node, depth int) (any, *node, error) {
	if depth == 0 {
		return nil, n, fmt.Errorf("is nested more than %d levels deep", maxExtraDepth)
	}
	switch n.kind {
	case kindString:
		return n.str, nil, nil
	case kindInt:
		return n.num, nil, nil
	case kindBool:
		return n.flag, nil, nil
	case kindFloat:
		if math.IsNaN(n.float) || math.IsInf(n.float, 0) {
			return nil, n, errors.New("JSON has no " + cut(n.raw))
		}
		return n.float, nil, nil
	case kindList:
		list := make([]any, 0, len(n.items))
		for _, item := range n.items {
			v, at, err := jsonValue(item, depth-1)
			if err != nil {
				return nil, at, err
			}
			list = append(list, v)
		}
		return list, nil, nil
	case kindTable:
		table := make(map[string]any, len(n.keys))
		for _, k := range n.keys {
			v, at, err := jsonValue(n.table[k], depth-1)
			if err != nil {
				return nil, at, err
			}
			table[k] = v
		}
		return table, nil, nil
	case kindDate:
		return nil, n, errors.New("JSON has no dates; write it as a string")
	}
	return nil, nil, nil // a broken number: its fault is listed
}
