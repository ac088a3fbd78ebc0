package agent

import (
	"bytes"
	"encoding/json"

	"assay/internal/bench"
)

// The tools by name.
const (
	toolRun    = "run"
	toolRead   = "read_file"
	toolWrite  = "write_file"
	toolEdit   = "edit_file"
	toolList   = "list_files"
	toolSubmit = "submit"
)

type kind string

const (
	kindString  kind = "string"
	kindInteger kind = "integer"
)

type field struct {
	name     string
	kind     kind
	required bool
	about    string
}

type tool struct {
	name   string
	about  string
	fields []field
}

func toolbox() []tool {
	return []tool{
		{toolRun, "Run a shell command in the workspace with /bin/sh -c. Answers with exit code, stdout and stderr. " +
			"Everything it started is ended when it returns.", []field{
			{"command", kindString, true, "the command line"},
		}},
		{toolRead, "Read a text file, whole or from one line to another.", []field{
			{"path", kindString, true, "file, relative to the workspace"},
			{"start_line", kindInteger, false, "first line, counted from 1"},
			{"end_line", kindInteger, false, "last line, included"},
		}},
		{toolWrite, "Write a whole file: it is created or replaced, and missing folders are made. " +
			"A file that starts with #! is made executable.", []field{
			{"path", kindString, true, "file, relative to the workspace"},
			{"content", kindString, true, "the whole new content"},
		}},
		{toolEdit, "Replace one piece of text in a file. The old text must occur exactly once, with the same white space. " +
			"Afterwards the file is executable only if it starts with #!.", []field{
			{"path", kindString, true, "file, relative to the workspace"},
			{"old", kindString, true, "the text to be replaced, exactly as in the file"},
			{"new", kindString, true, "the text to put in its place"},
		}},
		{toolList, "List files and folders below a folder, with sizes.", []field{
			{"path", kindString, false, "folder, relative to the workspace; without it the whole workspace"},
		}},
		{toolSubmit, "Hand the work over. It ends the task: nothing can be changed afterwards.", nil},
	}
}

// schema writes the JSON Schema of the arguments with the fields in their order,
// which some engines carry over into the grammar they sample with.
func (t tool) schema() json.RawMessage {
	var b bytes.Buffer
	required := []string{}
	b.WriteString(`{"type":"object","properties":{`)
	for i, f := range t.fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quoteJSON(f.name) + `:{"type":` + quoteJSON(string(f.kind)) + `,"description":` + quoteJSON(f.about) + `}`)
		if f.required {
			required = append(required, f.name)
		}
	}
	b.WriteString(`},"required":[`)
	for i, name := range required {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quoteJSON(name))
	}
	b.WriteString(`],"additionalProperties":false}`)
	return b.Bytes()
}

func offered(tools []tool) []bench.Tool {
	out := make([]bench.Tool, 0, len(tools))
	for _, t := range tools {
		out = append(out, bench.Tool{Name: t.name, Description: t.about, Parameters: t.schema()})
	}
	return out
}

// quoteJSON writes a JSON string without the HTML escapes of json.Marshal.
func quoteJSON(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return `""` // a string always encodes
	}
	return string(bytes.TrimRight(b.Bytes(), "\n"))
}
