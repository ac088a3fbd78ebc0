package plan

import (
	"errors"
	"fmt"
	"slices"

	"assay/internal/bench"
	"assay/internal/config"
)

// TaskInfo is a rendered task with the fixture that will judge it.
type TaskInfo struct {
	Task           bench.Task
	FixtureVersion string // "v0", "v1.0.0"
	FixtureDigest  string
	Released       bool // the fixture version is released and frozen
}

// TaskKey names a rendered task inside a plan. Seed is 0 for the fixed variant.
type TaskKey struct {
	Task    string
	Variant bench.Variant
	Seed    int
}

// Scaffold is what the agent loop puts around every task: system prompt, tool
// schemas, rules and version.
type Scaffold struct {
	Digest string
	Text   []byte // what the digest is over
}

// Render renders a task for a variant and seed and names its fixture. Asked for
// the seeded variant of a task that has none, it returns the fixed one. Seed is
// 0 when the fixed variant is asked for.
type Render func(name string, v bench.Variant, seed int) (TaskInfo, error)

// Plan is everything that a run needs to know beforehand.
type Plan struct {
	Cohort   bench.CohortPlan
	Arms     []config.Arm // in the order of the study file
	Tasks    map[TaskKey]TaskInfo
	Warnings []string // for people; one sentence each, in a stable order
	Settings []config.Setting
}

// Make plans a study. assay is the version that plans. The error is that of
// render, with the task's name, or says that a rendered task is not usable.
func Make(s config.Study, render Render, scaffold Scaffold, assay string) (Plan, error) {
	p := Plan{
		Arms:     slices.Clone(s.Arms),
		Tasks:    map[TaskKey]TaskInfo{},
		Settings: s.Explain(),
		Cohort: bench.CohortPlan{
			Study: s.Name, StudyDigest: s.Digest, StudyText: slices.Clone(s.Text), Assay: assay,
			Scaffold: scaffold.Digest, ScaffoldText: slices.Clone(scaffold.Text),
			Order: string(s.Order), Limits: s.Limits,
		},
	}
	for _, a := range s.Arms {
		p.Cohort.Arms = append(p.Cohort.Arms, a.Arm)
	}
	keys, err := p.render(s, render)
	if err != nil {
		return Plan{}, err
	}
	ordered, err := arrange(s.Order, shape{
		arms: len(s.Arms), tasks: shortestFirst(s, p.Tasks, keys), seeds: len(s.Seeds), repeats: s.Repeats,
	})
	if err != nil {
		return Plan{}, err
	}
	for _, at := range ordered {
		arm, task, seed := s.Arms[at.arm], s.Tasks[at.task], s.Seeds[at.seed]
		key := keys[at.task][at.seed]
		info := p.Tasks[key]
		cell := bench.PlannedCell{
			Cell:           bench.Cell{Arm: arm.Name, Task: task, Seed: seed, Repeat: at.repeat + 1},
			Variant:        key.Variant,
			TaskDigest:     info.Task.Digest,
			FixtureVersion: info.FixtureVersion,
			FixtureDigest:  info.FixtureDigest,
		}
		if cell.Key, err = cellKey(s, arm, scaffold.Digest, cell); err != nil {
			return Plan{}, fmt.Errorf("plan: %v: %w", cell.Cell, err)
		}
		p.Cohort.Cells = append(p.Cohort.Cells, cell)
	}
	p.Warnings = warnings(s, p.Tasks)
	return p, nil
}

// Task returns the rendered task of a cell of the plan.
func (p Plan) Task(c bench.PlannedCell) (TaskInfo, bool) {
	info, ok := p.Tasks[taskKey(c.Task, c.Variant, c.Seed)]
	return info, ok
}

func taskKey(name string, v bench.Variant, seed int) TaskKey {
	if v == bench.VariantFixed {
		seed = 0
	}
	return TaskKey{Task: name, Variant: v, Seed: seed}
}

// render asks for every task and seed of the study. The keys it returns are by
// index of task and seed; a task without variants is asked for once.
func (p *Plan) render(s config.Study, render Render) ([][]TaskKey, error) {
	keys := make([][]TaskKey, len(s.Tasks))
	for i, name := range s.Tasks {
		keys[i] = make([]TaskKey, len(s.Seeds))
		fixed := false
		for j, seed := range s.Seeds {
			if fixed {
				keys[i][j] = keys[i][0]
				continue
			}
			asked := taskKey(name, s.Variants, seed)
			info, err := render(name, asked.Variant, asked.Seed)
			if err == nil {
				err = usable(info, asked)
			}
			if err != nil {
				return nil, fmt.Errorf("plan: task %s, seed %d: %w", name, seed, err)
			}
			got := taskKey(name, info.Task.Variant, seed)
			fixed = got.Variant == bench.VariantFixed
			p.Tasks[got] = info
			keys[i][j] = got
		}
	}
	return keys, nil
}

func usable(info TaskInfo, asked TaskKey) error {
	switch {
	case info.Task.Name != asked.Task:
		return fmt.Errorf("rendered as task %q", info.Task.Name)
	case info.Task.Digest == "":
		return errors.New("rendered without a digest")
	case info.Task.Variant != bench.VariantFixed && info.Task.Variant != asked.Variant:
		return fmt.Errorf("rendered as variant %q, asked for %q", info.Task.Variant, asked.Variant)
	case info.FixtureVersion == "" || info.FixtureDigest == "":
		return errors.New("has no fixture")
	}
	return nil
}

// shortestFirst orders the indexes of the study's tasks by difficulty; equal
// ones keep the order of the study.
func shortestFirst(s config.Study, infos map[TaskKey]TaskInfo, keys [][]TaskKey) []int {
	order := make([]int, len(s.Tasks))
	rank := make([]int, len(s.Tasks))
	for i := range order {
		order[i] = i
		rank[i] = difficulty(infos[keys[i][0]].Task.Difficulty)
	}
	slices.SortStableFunc(order, func(a, b int) int { return rank[a] - rank[b] })
	return order
}

func difficulty(word string) int {
	switch word {
	case "smoke":
		return 0
	case "short":
		return 1
	case "long":
		return 2
	}
	return 3 // not said: last
}

func warnings(s config.Study, infos map[TaskKey]TaskInfo) []string {
	var out []string
	unreleased := map[string][]string{}
	for key, info := range infos {
		v := info.FixtureVersion
		if !info.Released && !slices.Contains(unreleased[v], key.Task) {
			unreleased[v] = append(unreleased[v], key.Task)
		}
	}
	var versions []string
	for v := range unreleased {
		versions = append(versions, v)
	}
	slices.Sort(versions)
	for _, v := range versions {
		slices.Sort(unreleased[v])
		out = append(out, fmt.Sprintf("fixture %s is not released: its verdicts may change (%s)", v, join(unreleased[v])))
	}
	first := map[string]string{}
	for _, a := range s.Arms {
		where := a.URL + " " + a.Model
		other, twice := first[where]
		if a.URL == "" || !twice {
			first[where] = a.Name
			continue
		}
		out = append(out, fmt.Sprintf("arms %s and %s ask the same server for the same model", other, a.Name))
	}
	return out
}
