package tasks_test

import (
	"strings"
	"testing"

	"assay/internal/bench"
)

func TestTemplatesOptIn(t *testing.T) {
	s := load(t, toy(map[string]string{
		"toy/task.toml":                          goodSettings + "[metadata.assay.values]\nunit = \"mole\"\nstep = 3\n",
		"toy/instruction.md":                     "",
		"toy/instruction.md.tmpl":                "1. Count {{.Values.unit}}s by {{.Values.step}}.\n",
		"toy/environment/workspace/plain.txt":    "{{.Values.unit}}\n",
		"toy/environment/workspace/unit.py.tmpl": "UNIT = {{printf \"%q\" .Values.unit}}  # {{.Variant}}\n",
	}))
	task, err := s.Render(bench.VariantFixed, 7)
	if err != nil {
		t.Fatal(err)
	}
	if want := "1. Count moles by 3.\n"; task.Instruction != want {
		t.Errorf("instruction %q, want %q", task.Instruction, want)
	}
	for path, want := range map[string]string{"plain.txt": "{{.Values.unit}}\n", "unit.py": "UNIT = \"mole\"  # fixed\n"} {
		if f, ok := task.Workspace.Get(path); !ok || string(f.Data) != want {
			t.Errorf("%s holds %q, want %q", path, f.Data, want)
		}
	}
	if f, _ := task.Reference.Get("unit.py"); len(f.Data) == 0 {
		t.Error("the reference lacks the rendered workspace file")
	}
}

func TestRenderRefuses(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		variant          bench.Variant
	}{
		{"missing value", "1. {{.Values.absent}}\n", "absent", bench.VariantFixed},
		{"bad template", "1. {{.Values\n", "render instruction.md.tmpl", bench.VariantFixed},
		{"no seeded variant", "1. x\n", "task toy has no seeded variant", bench.VariantSeeded},
	} {
		s := load(t, toy(map[string]string{"toy/instruction.md": "", "toy/instruction.md.tmpl": c.text}))
		if _, err := s.Render(c.variant, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}
