package plan

import (
	"os"
	"strings"
	"testing"

	"assay/internal/bench"

	"github.com/google/go-cmp/cmp"
	"github.com/jedib0t/go-pretty/v6/text"
)

const goldenStudy = `schema = 1
[server]
command = "/opt/llama/llama-server -m {model} -c 81920 -np 1 -ctk q8_0 -ctv q8_0 {spec} --port {port}"
mtp = 3
[coding]
seeds = [1, 2, 3, 7]
[sampling]
temperature = 0.6
[[arm]]
model = "/models/Q4_K_M.gguf"
[[arm]]
model = "/models/a-name-that-is-longer-than-any-column-IQ4_XS.gguf"
[[arm]]
name = "remote"
url = "http://10.0.0.2:8080"
key_env = "REMOTE_KEY"
`

func TestTextGolden(t *testing.T) {
	p := planOf(t, goldenStudy)
	var b strings.Builder
	if err := p.Text(&b); err != nil {
		t.Fatal(err)
	}
	narrow(t, b.String())
	const file = "testdata/plan.golden"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("set UPDATE_GOLDEN=1 to accept:\n%s", diff)
	}
}

func narrow(t *testing.T, s string) {
	t.Helper()
	for _, line := range strings.Split(s, "\n") {
		if n := text.StringWidthWithoutEscSequences(line); n > textWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestTextStaysNarrow(t *testing.T) {
	s := study(t, "schema = 1\n[coding]\nseeds = [1, 3, 5, 7, 2147483647, 9]\n[[arm]]\nurl = \"http://h/"+strings.Repeat("x", 300)+
		"\"\nname = \""+strings.Repeat("長", 60)+"\"\n")
	long := strings.Repeat("task", 10)
	s.Tasks = []string{long}
	p, err := Make(s, func(_ string, v bench.Variant, seed int) (TaskInfo, error) {
		info, err := render("ledger", v, seed)
		info.Task.Name, info.FixtureVersion = long, "v1000.1000.1000"
		return info, err
	}, Scaffold{}, "test")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := p.Text(&b); err != nil {
		t.Fatal(err)
	}
	narrow(t, b.String())
}

func TestFoldKeepsEverything(t *testing.T) {
	for _, s := range []string{"", "a b c", strings.Repeat("x", 95), "one " + strings.Repeat("y", 70) + " two", "日本語の名前 " + strings.Repeat("長", 30)} {
		lines := fold(s, 20)
		for _, line := range lines {
			if text.StringWidthWithoutEscSequences(line) > 20 {
				t.Errorf("%q is wider than 20", line)
			}
		}
		squeeze := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if got := squeeze(strings.Join(lines, "")); got != squeeze(s) {
			t.Errorf("%q became %q", s, lines)
		}
	}
}

func TestRanges(t *testing.T) {
	for want, in := range map[string][]int{
		"": nil, "4": {4}, "1-3": {1, 2, 3}, "1-2, 7": {1, 2, 7}, "3, 2, 1": {3, 2, 1}, "9, 1-2": {9, 1, 2},
	} {
		if got := ranges(in); got != want {
			t.Errorf("ranges(%v) = %q, want %q", in, got, want)
		}
	}
}
