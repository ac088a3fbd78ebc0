package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/engine/scripted"

	"github.com/spf13/cobra"
)

func newDemoCommand(s state) *cobra.Command {
	var dir, kind string
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run three simulated arms on one task, judged in real sandboxes",
		Long: `Starts three scripted model servers, runs the task ledger with three seeds
against each, judges the answers in sandboxes, and prints the report. The
speeds are simulated and say nothing about any model; agent, boxes, judge,
record and report are those of every run.
` + exitHelp,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if !slices.Contains(boxKinds(), kind) {
				return usagef("--sandbox %q is not known: auto, docker or bwrap", kind)
			}
			return runDemo(s, dir, kind)
		},
	}
	sandboxFlag(c, &kind, "boxes: auto, docker or bwrap")
	c.Flags().StringVar(&dir, "dir", "demo", "folder for study.toml and demo.db")
	return c
}

func runDemo(s state, dir, kind string) error {
	profiles, err := demoProfiles()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the demo's folder: %w", err)
	}
	out := newProgress(s, false)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var arms strings.Builder
	for _, p := range profiles {
		server, err := scripted.Serve(ctx, "127.0.0.1:0", p)
		if err != nil {
			return err
		}
		defer closeServer(server, out)
		fmt.Fprintf(&arms, "\n[[arm]]\nname = %q\nurl = %q\n", p.Model, server.URL())
	}
	study := filepath.Join(dir, "study.toml")
	if err := os.WriteFile(study, fmt.Appendf(nil, demoStudy+"%s", kind, arms.String()), 0o644); err != nil {
		return fmt.Errorf("write the demo's study: %w", err)
	}
	loaded, p, err := loadPlan(study)
	if err != nil {
		return err
	}
	db := filepath.Join(dir, "demo.db")
	if err := (execution{state: s, study: loaded, plan: p, db: db, out: out}).run(); err != nil {
		return err
	}
	if err := printReport(s, db, "text"); err != nil {
		return err
	}
	out.note("left in " + db + "; see 'assay report " + db + " --format json'")
	return nil
}

// demoStudy has limits small enough that a simulated answer can reach them.
const demoStudy = `# The demo's study: three simulated arms. Written anew by each 'assay demo',
# since the servers take free ports.
schema = 1
name = "demo"

[coding]
tasks = ["ledger"]
seeds = [1, 2, 3]

[coding.limits]
max_output_tokens = 16384

[sampling]
temperature = 0.6
top_p = 0.95
top_k = 20
min_p = 0.0

[grading]
sandbox = %q
`

// closeServer ends a scripted server with the run that used it.
func closeServer(server *scripted.Server, out *progress) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := server.Close(ctx); err != nil {
		out.note("scripted engine: " + err.Error())
	}
}
