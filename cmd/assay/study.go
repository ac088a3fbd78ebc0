package main

import (
	"fmt"
	"os"

	"assay/agent"
	"assay/fixtures"
	"assay/internal/bench"
	"assay/internal/config"
	"assay/internal/plan"
	"assay/internal/runner"
	"assay/tasks"

	"github.com/spf13/cobra"
)

// maxStudyBytes bounds what is read of a study file.
const maxStudyBytes = 1 << 20

// loadPlan reads a study file and plans it.
func loadPlan(path string) (config.Study, plan.Plan, error) {
	data, err := readStudy(path)
	if err != nil {
		return config.Study{}, plan.Plan{}, usageError{err}
	}
	study, err := config.Load(path, data, config.Known{Tasks: tasks.Names()})
	if err != nil {
		return config.Study{}, plan.Plan{}, err
	}
	digest, text := agent.Scaffold()
	p, err := plan.Make(study, renderer(study.Fixtures), plan.Scaffold{Digest: digest, Text: text}, version())
	if err != nil {
		return config.Study{}, plan.Plan{}, usageError{err}
	}
	return study, p, nil
}

func readStudy(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("study file: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("study file %s is not a regular file", path)
	case info.Size() > maxStudyBytes:
		return nil, fmt.Errorf("study file %s has %d bytes; at most %d are read", path, info.Size(), maxStudyBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("study file: %w", err)
	}
	return data, nil
}

// renderer renders tasks and finds the fixture that will judge them.
func renderer(version string) plan.Render {
	return func(name string, v bench.Variant, seed int) (plan.TaskInfo, error) {
		info, err := tasks.Describe(name)
		if err != nil {
			return plan.TaskInfo{}, err
		}
		if !info.Seeded {
			v, seed = bench.VariantFixed, 0
		}
		t, err := tasks.Render(name, v, seed)
		if err != nil {
			return plan.TaskInfo{}, err
		}
		use := version
		if use == config.Newest {
			use, _ = fixtures.Newest(name)
		}
		f, err := fixtures.Load(use, t)
		if err != nil {
			return plan.TaskInfo{}, err
		}
		return plan.TaskInfo{Task: t, FixtureVersion: f.Version, FixtureDigest: f.Digest, Released: f.Released}, nil
	}
}

// material finds the task and fixture of every planned cell before the first of
// them runs.
func material(p plan.Plan) (func(bench.PlannedCell) (runner.Work, error), error) {
	type key struct{ task, fixture string }
	known := map[key]runner.Work{}
	for _, c := range p.Cohort.Cells {
		k := key{c.TaskDigest, c.FixtureDigest}
		if _, ok := known[k]; ok {
			continue
		}
		info, ok := p.Task(c)
		if !ok {
			return nil, fmt.Errorf("cell %s has no rendered task", c.Cell)
		}
		f, err := fixtures.Load(c.FixtureVersion, info.Task)
		if err != nil {
			return nil, err
		}
		known[k] = runner.Work{Task: info.Task, Fixture: f}
	}
	return func(c bench.PlannedCell) (runner.Work, error) {
		w, ok := known[key{c.TaskDigest, c.FixtureDigest}]
		if !ok {
			return runner.Work{}, fmt.Errorf("cell %s is not of this plan", c.Cell)
		}
		return w, nil
	}, nil
}

func newPlanCommand(s state) *cobra.Command {
	return &cobra.Command{
		Use:   "plan STUDY.toml",
		Short: "Print what a study would run, and every default with its origin",
		Long:  "Prints cells, order and settings of a study.\nIt asks no server and writes nothing.\n" + exitHelp,
		Args:  oneArg("study file"),
		RunE: func(_ *cobra.Command, args []string) error {
			study, p, err := loadPlan(args[0])
			if err != nil {
				return err
			}
			if err := p.Text(s.stdout); err != nil {
				return err
			}
			if missing := notThereYet(study); missing != nil {
				newProgress(s, false).lines("warning: 'assay run' will refuse this study: ", missing)
			}
			return nil
		},
	}
}
