package scripted

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/bench"
)

// docExample returns the profile file of the package documentation.
func docExample(t testing.TB) string {
	b, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(b), "//\tschema = 1\n")
	if !ok {
		t.Fatal("no example in doc.go")
	}
	text, _, _ = strings.Cut("//\tschema = 1\n"+text, "package scripted")
	return regexp.MustCompile(`(?m)^//\t?`).ReplaceAllString(text, "")
}

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "p.toml")
}

func TestDocumentedFile(t *testing.T) {
	got, err := LoadProfiles(write(t, map[string]string{"p.toml": docExample(t), "ledger.py": "print(1)\n"}))
	if err != nil {
		t.Fatal(err)
	}
	want := []Profile{{
		Model: "demo-q4", ContextPerSlot: 16384, Slots: 1, Pace: Instant, Key: "test-key",
		Speed: Speed{PrefillTPS: 900, DecodeTPS: 42.5, DraftDepth: 3, Acceptance: 0.7},
		Programs: []Program{
			{
				Name: "right", Task: "ledger", Seeds: []int64{99, bench.SamplerSeed(1, 1), bench.SamplerSeed(2, 1)},
				Turns: []Turn{
					{Reasoning: "I look first.", ReasoningTokens: 120, Calls: []Call{{Name: "list_files"}}},
					{Text: "Now I write it.", TextTokens: 40, Calls: []Call{
						{Name: "write_file", Arguments: map[string]any{"path": "ledger.py", "content": "print(1)\n"}},
						{Name: "run", RawArguments: `{"command": "python3 led`},
					}},
					{Calls: []Call{{Name: "submit"}}},
				},
			},
			{Name: "endless", Turns: []Turn{{Text: "and so on", Finish: "length"}}},
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := got[0].Validate(); err != nil {
		t.Error(err)
	}
}

func TestFileFaults(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string // "line: part of the text"
	}{
		{"all at once", `schema = 2
colour = "red"

[[profile]]
model = 5
slots = 1000
pace = "slow"
[profile.speed]
prefill_tps = 0
decode_tps = "fast"

[[profile.program]]
name = "a"
seeds = [1, "two"]
[[profile.program.turn]]
text_tokens = 5
call = [{ name = "run" },
  { name = "x", arguments = 3, colour = 1 }]

[[profile.program]]
name = "a"
[[profile.program.turn]]
finish = "soon"
[[profile.program.turn]]
[[profile.program.turn.call]]
content_file = "../outside"
raw_arguments = "{"

[[profile]]
`, []string{
			"1: schema must be 1", "2: unknown key colour", "5: model must be a string", "6: slots 1000",
			"7: pace", "9: prefill_tps", "10: decode_tps must be a number", "14: seeds must be a list of integers",
			"16: text_tokens", "18: unknown key", "18: arguments must be a table", "21: name", "23: finish",
			"25: name is missing", "25: arguments", "26: content_file cannot be read",
			"29: model is missing", "29: prefill_tps", "29: decode_tps", "29: program is missing",
		}},
		{"empty", ``, []string{"1: schema is missing", "1: profile is missing"}},
		{"syntax", "schema = 1\n[[profile]\n", []string{"2: "}},
		{"wrong kind of table", "schema = 1\nprofile = 3\n", []string{"2: "}},
		{"no file", "schema = 1\n[[profile]]\nmodel='m'\nspeed={prefill_tps=1,decode_tps=1}\n[[profile.program]]\nname='a'\n[[profile.program.turn]]\n[[profile.program.turn.call]]\nname='w'\ncontent_file='none.py'\n",
			[]string{"10: content_file cannot be read"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, map[string]string{"p.toml": tt.text})
			_, err := LoadProfiles(path)
			var faults *FileError
			if !errors.As(err, &faults) {
				t.Fatalf("error %v", err)
			}
			got := strings.Split(strings.ReplaceAll(err.Error(), path+":", ""), "\n")
			for i := range max(len(got), len(tt.want)) {
				switch {
				case i >= len(got):
					t.Errorf("missing %q", tt.want[i])
				case i >= len(tt.want):
					t.Errorf("unexpected %q", got[i])
				case !strings.HasPrefix(got[i], tt.want[i]):
					t.Errorf("got %q, want %q", got[i], tt.want[i])
				}
			}
		})
	}
}

func TestLoadProfilesWithoutFile(t *testing.T) {
	if _, err := LoadProfiles(filepath.Join(t.TempDir(), "none.toml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if _, err := LoadProfiles(t.TempDir()); err == nil {
		t.Error("a folder was read")
	}
}

func FuzzParseProfiles(f *testing.F) {
	f.Add(docExample(f))
	f.Add("schema = 1\n[[profile]]\nspeed = { decode_tps = nan }\nprogram = [{turn = [{call = [{}]}]}]")
	f.Add("a.b.c = [[[{d = 1}]]]\n[a.b]\n[[a]]")
	f.Fuzz(func(t *testing.T, text string) {
		profiles, faults := parseProfiles([]byte(text), func(string) ([]byte, error) { return nil, nil })
		for _, x := range faults {
			if x.Line < 1 || x.Line > strings.Count(text, "\n")+1 || x.Text == "" {
				t.Errorf("fault %+v in a text of %d lines", x, strings.Count(text, "\n")+1)
			}
		}
		for _, p := range profiles {
			if err := p.Validate(); err != nil {
				t.Errorf("no fault in the file, but %v", err)
			}
		}
		if len(faults) == 0 && len(profiles) == 0 {
			t.Error("neither profiles nor faults")
		}
	})
}

func FuzzTokenize(f *testing.F) {
	f.Add("Once upon a 日本語 \xff\xfe 🎈")
	f.Fuzz(func(t *testing.T, s string) {
		tokens := tokenize(s)
		if strings.Join(tokens, "") != s || len(tokens) != countTokens(s) || commonTokens(s, len(s)) != len(tokens) {
			t.Errorf("%q became %q", s, tokens)
		}
	})
}
