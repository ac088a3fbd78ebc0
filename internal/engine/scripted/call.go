package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Call is one tool call of a turn.
type Call struct {
	Name string

	// Arguments are marshalled to JSON; nil is an empty object.
	Arguments any

	// RawArguments are sent as they are, whatever they are; not together with
	// Arguments.
	RawArguments string
}

var errBothArguments = errors.New("arguments and raw arguments exclude each other")

func (c Call) arguments() (string, error) {
	switch {
	case c.RawArguments != "" && c.Arguments != nil:
		return "", errBothArguments
	case c.RawArguments != "":
		return c.RawArguments, nil
	case c.Arguments == nil:
		return "{}", nil
	}
	b, err := marshal(c.Arguments)
	if err != nil {
		return "", fmt.Errorf("arguments of %s are no JSON: %w", c.Name, err)
	}
	return string(b), nil
}

// marshal writes JSON as llama.cpp does: <, > and & stay as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

type pathArguments struct {
	Path string `json:"path"`
}

// WriteFile calls the agent's write_file.
func WriteFile(path, content string) Call {
	return Call{Name: "write_file", Arguments: struct {
		pathArguments
		Content string `json:"content"`
	}{pathArguments{path}, content}}
}

// EditFile calls the agent's edit_file.
func EditFile(path, old, replacement string) Call {
	return Call{Name: "edit_file", Arguments: struct {
		pathArguments
		Old string `json:"old"`
		New string `json:"new"`
	}{pathArguments{path}, old, replacement}}
}

// ReadFile calls the agent's read_file.
func ReadFile(path string) Call {
	return Call{Name: "read_file", Arguments: pathArguments{path}}
}

// ListFiles calls the agent's list_files for the whole workspace.
func ListFiles() Call { return Call{Name: "list_files"} }

// Run calls the agent's run.
func Run(cmd string) Call {
	return Call{Name: "run", Arguments: struct {
		Command string `json:"command"`
	}{cmd}}
}

// Submit calls the agent's submit.
func Submit() Call { return Call{Name: "submit"} }
