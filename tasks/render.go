package tasks

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"text/template"

	"assay/internal/bench"
)

// templateSuffix marks a file that opts in to templates; it is dropped from the
// rendered file's name.
const templateSuffix = ".tmpl"

// Params is the one object from which instruction, workspace, reference and
// fixture of a task are rendered.
type Params struct {
	Task    string
	Variant bench.Variant
	Seed    int            // 0 for the fixed variant
	Values  map[string]any // names, constants and policies of the variant
}

// File renders one file. A name that ends in ".tmpl" is a text/template over the
// parameters; any other file passes unchanged. A value that is missing is an error.
func (p Params) File(f bench.File) (bench.File, error) {
	name, ok := strings.CutSuffix(f.Path, templateSuffix)
	if !ok {
		return f, nil
	}
	t, err := template.New(f.Path).Option("missingkey=error").Parse(string(f.Data))
	if err != nil {
		return f, fmt.Errorf("render %s: %w", f.Path, err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return f, fmt.Errorf("render %s: %w", f.Path, err)
	}
	return bench.File{Path: name, Exec: strings.HasSuffix(name, ".sh"), Data: b.Bytes()}, nil
}

// Tree renders every file of a tree.
func (p Params) Tree(t bench.Tree) (bench.Tree, error) {
	files := make([]bench.File, 0, len(t))
	for _, f := range t {
		r, err := p.File(f)
		if err != nil {
			return nil, err
		}
		files = append(files, r)
	}
	return bench.NewTree(files)
}

// Params returns the parameters of a variant.
func (s *Source) Params(v bench.Variant, seed int) (Params, error) {
	if v != bench.VariantFixed {
		return Params{}, fmt.Errorf("task %s has no %s variant, only %s", s.Name, v, bench.VariantFixed)
	}
	return Params{Task: s.Name, Variant: v, Values: maps.Clone(s.values)}, nil
}

// Render makes the task of a variant. The fixed variant is the same for every seed.
func (s *Source) Render(v bench.Variant, seed int) (bench.Task, error) {
	p, err := s.Params(v, seed)
	if err != nil {
		return bench.Task{}, err
	}
	instruction, err := p.File(s.instruction)
	if err != nil {
		return bench.Task{}, err
	}
	workspace, err := p.Tree(s.workspace)
	if err != nil {
		return bench.Task{}, err
	}
	reference, err := p.Tree(s.reference)
	if err != nil {
		return bench.Task{}, err
	}
	if reference, err = Overlay(workspace, reference); err != nil {
		return bench.Task{}, err
	}
	return bench.Task{
		Name:        s.Name,
		Variant:     p.Variant,
		Seed:        p.Seed,
		Instruction: string(instruction.Data),
		Workspace:   workspace,
		Reference:   reference,
		Protected:   s.Protected,
		Difficulty:  s.Size,
		Digest:      digest(instruction.Data, workspace),
		Entry:       s.Entry,
	}, nil
}

// digest is sha256 over everything that the model sees: the instruction's own
// digest on a line, then the manifest of the workspace.
func digest(instruction []byte, workspace bench.Tree) string {
	return bench.Digest(append([]byte(bench.Digest(instruction)+"\n"), workspace.Manifest()...))
}
