package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/sashabaranov/go-openai"

	"assay/internal/bench"
)

// fixed are the fields that extra_body may not set: the agent, the limits and
// the arm's own fields do.
var fixed = map[string]string{
	"messages":              "the agent writes them",
	"tools":                 "the agent writes them",
	"stream":                "answers are always streamed",
	"stream_options":        "usage is always asked for",
	"model":                 "set the arm's model",
	"n":                     "one choice is asked for",
	"seed":                  "it follows from the cell",
	"max_tokens":            "set coding.limits.max_output_tokens",
	"max_completion_tokens": "set coding.limits.max_output_tokens",
	"n_predict":             "set coding.limits.max_output_tokens",
}

// checkBody refuses what cannot become a request body.
func checkBody(arm bench.Arm) error {
	s := arm.Sampling
	for _, f := range []*float64{s.Temperature, s.TopP, s.MinP, s.RepeatPenalty, s.PresencePenalty} {
		if f != nil && (math.IsNaN(*f) || math.IsInf(*f, 0)) {
			return &ArmError{Arm: arm.Name, Field: "sampling", Message: "a value is not a finite number"}
		}
	}
	own := map[string]bool{}
	for _, f := range samplerFieldsOf(arm.Sampling) {
		own[f.name] = true
	}
	var faults []string
	for name, value := range arm.ExtraBody {
		switch {
		case fixed[name] != "":
			faults = append(faults, name+" cannot be set ("+fixed[name]+")")
		case own[name]:
			faults = append(faults, name+" is set in sampling too")
		case !json.Valid(value):
			faults = append(faults, name+" is not JSON")
		}
	}
	if len(faults) == 0 {
		return nil
	}
	sort.Strings(faults)
	return &ArmError{Arm: arm.Name, Field: "extra_body", Message: strings.Join(faults, "; ")}
}

// bodyField is one field of a request body with its JSON text.
type bodyField struct {
	name  string
	value []byte
}

func samplerFieldsOf(s bench.Sampling) []bodyField {
	var out []bodyField
	add := func(name string, v any, set bool) {
		if set {
			out = append(out, bodyField{name, encode(v)})
		}
	}
	add("temperature", s.Temperature, s.Temperature != nil)
	add("top_k", s.TopK, s.TopK != nil)
	add("top_p", s.TopP, s.TopP != nil)
	add("min_p", s.MinP, s.MinP != nil)
	add("repeat_penalty", s.RepeatPenalty, s.RepeatPenalty != nil)
	add("presence_penalty", s.PresencePenalty, s.PresencePenalty != nil)
	return out
}

// chatRequest is the part of a request that go-openai carries. The model stays
// out of it: by a model's name go-openai decides which fields it lets through.
func chatRequest(r bench.Request) openai.ChatCompletionRequest {
	out := openai.ChatCompletionRequest{
		Stream:        true,
		StreamOptions: &openai.StreamOptions{IncludeUsage: true},
		MaxTokens:     r.MaxOutputTokens, //lint:ignore SA1019 llama.cpp and most other servers know this name only
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, openai.Tool{
			Type:     openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Parameters},
		})
	}
	return out
}

// overlay are the fields that replace or join those of go-openai's body.
func (c *Client) overlay(r bench.Request, model string) ([]bodyField, error) {
	messages, err := history(r.Messages, c.arm.Replay)
	if err != nil {
		return nil, err
	}
	out := []bodyField{
		{"model", encode(model)},
		{"messages", encode(messages)},
		{"max_tokens", encode(r.MaxOutputTokens)},
		{"seed", encode(r.Seed)},
	}
	out = append(out, samplerFieldsOf(c.arm.Sampling)...)
	names := make([]string, 0, len(c.arm.ExtraBody))
	for name := range c.arm.ExtraBody {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		out = append(out, bodyField{name, c.arm.ExtraBody[name]})
	}
	return out, nil
}

// merge lays fields over a JSON object and keeps the object's order; new fields
// follow in theirs. The same inputs give the same bytes.
func merge(body []byte, over []bodyField) ([]byte, error) {
	fields, err := split(body)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for i, f := range fields {
		at[f.name] = i
	}
	for _, f := range over {
		if i, ok := at[f.name]; ok {
			fields[i] = f
			continue
		}
		at[f.name] = len(fields)
		fields = append(fields, f)
	}
	var out bytes.Buffer
	out.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(encode(f.name))
		out.WriteByte(':')
		if err := json.Compact(&out, f.value); err != nil {
			return nil, fmt.Errorf("request field %s: %w", f.name, err)
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// split takes a JSON object apart without touching its values.
func split(body []byte) ([]bodyField, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("request body is no JSON object: %w", err)
	}
	var out []bodyField
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("request body: %w", err)
		}
		name, ok := t.(string)
		if !ok {
			return nil, fmt.Errorf("request body: %v where a field name belongs", t)
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, fmt.Errorf("request field %s: %w", name, err)
		}
		out = append(out, bodyField{name, v})
	}
	return out, nil
}

// encode writes JSON as it reads: without escaping <, > and &. The values are
// strings, finite numbers and our own structs, which always encode.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
