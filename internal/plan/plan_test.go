package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/internal/bench"
	"assay/internal/config"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// tasks of the tests: router is long, ledger short, smoke has no variants.
func render(name string, v bench.Variant, seed int) (TaskInfo, error) {
	info := TaskInfo{FixtureVersion: "v0", FixtureDigest: "fix-" + name}
	info.Task = bench.Task{Name: name, Variant: v, Seed: seed, Digest: fmt.Sprintf("%s-%s-%d", name, v, seed), Difficulty: "short"}
	switch name {
	case "router":
		info.Task.Difficulty = "long"
		info.FixtureVersion, info.Released = "v1.0.0", true
	case "hello":
		info.Task.Difficulty = "smoke"
		info.Task.Variant, info.Task.Seed, info.Task.Digest = bench.VariantFixed, 0, "hello-fixed"
	}
	return info, nil
}

func study(t testing.TB, text string) config.Study {
	t.Helper()
	s, err := config.Load("night.toml", []byte(text), config.Known{Tasks: []string{"router", "ledger", "hello"}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func planOf(t testing.TB, text string) Plan {
	t.Helper()
	return made(t, study(t, text))
}

func made(t testing.TB, s config.Study) Plan {
	t.Helper()
	p, err := Make(s, render, Scaffold{Digest: "scaffold", Text: []byte("prompt")}, "test")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const threeArms = `
[[arm]]
name = "A"
url = "http://h:1"
[[arm]]
name = "B"
url = "http://h:2"
[[arm]]
name = "C"
url = "http://h:3"
`

// sequence writes cells as arm, first letter of task, seed, repeat.
func sequence(p Plan) string {
	var out []string
	for _, c := range p.Cohort.Cells {
		out = append(out, fmt.Sprintf("%s%s%d.%d", c.Arm, c.Task[:1], c.Seed, c.Repeat))
	}
	return strings.Join(out, " ")
}

func TestOrders(t *testing.T) {
	for _, tc := range []struct {
		order, coding, want string
		loads               int
	}{
		{
			"rounds", `tasks = ["router", "ledger"]` + "\nseeds = 2",
			"Al1.1 Ar1.1 Bl1.1 Br1.1 Cl1.1 Cr1.1 Cl2.1 Cr2.1 Bl2.1 Br2.1 Al2.1 Ar2.1", 5,
		},
		{
			"blocked", `tasks = ["ledger"]` + "\nseeds = [7, 2]\nrepeats = 2",
			"Al7.1 Al7.2 Al2.1 Al2.2 Bl7.1 Bl7.2 Bl2.1 Bl2.2 Cl7.1 Cl7.2 Cl2.1 Cl2.2", 3,
		},
		{
			"interleaved", `tasks = ["router", "hello"]` + "\nseeds = 2",
			"Ah1.1 Bh1.1 Ch1.1 Cr1.1 Br1.1 Ar1.1 Ah2.1 Bh2.1 Ch2.1 Cr2.1 Br2.1 Ar2.1", 9,
		},
	} {
		p := planOf(t, "schema = 1\n[coding]\norder = \""+tc.order+"\"\n"+tc.coding+threeArms)
		if diff := cmp.Diff(tc.want, sequence(p)); diff != "" {
			t.Errorf("%s: %s", tc.order, diff)
		}
		if p.Loads() != tc.loads {
			t.Errorf("%s: %d loads, want %d", tc.order, p.Loads(), tc.loads)
		}
	}
}

func TestPlanIsAPermutation(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		tasks := []string{"router", "ledger", "hello"}[:rapid.IntRange(1, 3).Draw(r, "tasks")]
		order := rapid.SampledFrom(config.Orders()).Draw(r, "order")
		seeds := rapid.SliceOfNDistinct(rapid.IntRange(1, 50), 1, 5, rapid.ID[int]).Draw(r, "seeds")
		arms, repeats := rapid.IntRange(1, 5).Draw(r, "arms"), rapid.IntRange(1, 3).Draw(r, "repeats")
		variants := rapid.SampledFrom([]string{"seeded", "fixed"}).Draw(r, "variants")
		var b strings.Builder
		fmt.Fprintf(&b, "schema = 1\n[coding]\ntasks = [\"%s\"]\nseeds = [%s]\nrepeats = %d\norder = %q\nvariants = %q\n",
			strings.Join(tasks, `", "`), strings.Trim(strings.ReplaceAll(fmt.Sprint(seeds), " ", ","), "[]"), repeats, order, variants)
		for i := range arms {
			fmt.Fprintf(&b, "[[arm]]\nname = \"arm%d\"\nurl = \"http://h:%d\"\n", i, i+1)
		}
		p := planOf(t, b.String())
		want := map[bench.Cell]bool{}
		for i := range arms {
			for _, task := range tasks {
				for _, seed := range seeds {
					for repeat := range repeats {
						want[bench.Cell{Arm: fmt.Sprintf("arm%d", i), Task: task, Seed: seed, Repeat: repeat + 1}] = true
					}
				}
			}
		}
		keys := map[string]bool{}
		for _, c := range p.Cohort.Cells {
			if !want[c.Cell] {
				r.Fatalf("%v is not planned, or twice", c.Cell)
			}
			delete(want, c.Cell)
			if keys[c.Key] {
				r.Fatalf("two cells have the key of %v", c.Cell)
			}
			keys[c.Key] = true
			info, ok := p.Task(c)
			if !ok || info.Task.Digest != c.TaskDigest || info.Task.Variant != c.Variant {
				r.Fatalf("%v: task %+v", c, info)
			}
		}
		if len(want) != 0 {
			r.Fatalf("never planned: %v", want)
		}
		if p.Loads() != p.LoadsOf(order) {
			r.Fatalf("%d loads counted, %d computed", p.Loads(), p.LoadsOf(order))
		}
		if diff := cmp.Diff(p, planOf(t, b.String())); diff != "" {
			r.Fatal(diff)
		}
	})
}

func TestFixedTasksAreRenderedOnce(t *testing.T) {
	var asked []string
	tasks := func(name string, v bench.Variant, seed int) (TaskInfo, error) {
		asked = append(asked, fmt.Sprintf("%s %s %d", name, v, seed))
		return render(name, v, seed)
	}
	for variants, want := range map[string][]string{
		"seeded": {"hello seeded 4", "ledger seeded 4", "ledger seeded 9"},
		"fixed":  {"hello fixed 0", "ledger fixed 0"},
	} {
		asked = nil
		s := study(t, "schema = 1\n[coding]\nseeds = [4, 9]\ntasks = [\"hello\", \"ledger\"]\nvariants = \""+variants+"\"\n"+threeArms)
		if _, err := Make(s, tasks, Scaffold{}, "test"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Errorf("%s: %s", variants, diff)
		}
	}
}

func TestUnusableTasks(t *testing.T) {
	boom := errors.New("no such folder")
	s := study(t, "schema = 1\n[coding]\ntasks = [\"ledger\"]\n"+threeArms)
	for name, spoil := range map[string]func(*TaskInfo) error{
		"error":      func(*TaskInfo) error { return boom },
		"name":       func(i *TaskInfo) error { i.Task.Name = "other"; return nil },
		"digest":     func(i *TaskInfo) error { i.Task.Digest = ""; return nil },
		"variant":    func(i *TaskInfo) error { i.Task.Variant = "x"; return nil },
		"no fixture": func(i *TaskInfo) error { i.FixtureVersion = ""; return nil },
	} {
		_, err := Make(s, func(n string, v bench.Variant, seed int) (TaskInfo, error) {
			info, _ := render(n, v, seed)
			return info, spoil(&info)
		}, Scaffold{}, "test")
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		if !strings.Contains(err.Error(), "ledger") {
			t.Errorf("%s: error does not name the task: %v", name, err)
		}
		if name == "error" && !errors.Is(err, boom) {
			t.Errorf("cause is lost: %v", err)
		}
	}
}

func TestWarnings(t *testing.T) {
	got := planOf(t, "schema = 1\n[[arm]]\nname = \"A\"\nurl = \"http://h\"\n[[arm]]\nname = \"B\"\nurl = \"http://h\"\n").Warnings
	want := []string{
		"fixture v0 is not released: its verdicts may change (hello, ledger)",
		"arms A and B ask the same server for the same model",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCohortCarriesTheStudy(t *testing.T) {
	s := study(t, "schema = 1\n[coding]\norder = \"blocked\"\n"+threeArms)
	p := made(t, s)
	c := p.Cohort
	if c.Study != "night" || c.StudyDigest != s.Digest || string(c.StudyText) != string(s.Text) || c.Assay != "test" ||
		c.Scaffold != "scaffold" || string(c.ScaffoldText) != "prompt" || c.Order != "blocked" || c.Limits != s.Limits {
		t.Errorf("cohort %+v", c)
	}
	names := []string{}
	for _, a := range c.Arms {
		names = append(names, a.Name)
	}
	if !slices.Equal(names, []string{"A", "B", "C"}) {
		t.Errorf("arms %v", names)
	}
}

func BenchmarkMake(b *testing.B) {
	s := study(b, "schema = 1\n[coding]\nseeds = 1000\nrepeats = 10\n"+threeArms)
	cells := 0
	for b.Loop() {
		cells += made(b, s).Cells()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(cells), "ns/cell")
}
