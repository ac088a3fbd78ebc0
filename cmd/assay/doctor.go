package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/internal/doctor"
	"assay/internal/runner"
	"assay/internal/sandbox/bwrap"
	"assay/internal/sandbox/docker"
	"assay/internal/sandbox/kinds"

	"github.com/spf13/cobra"
)

// Names of checks that decide whether a kind of box can be used.
const (
	checkEngine = "engine"
	checkImage  = "image"
	checkTree   = "root tree"
)

// needs are the checks that must be ok, or warn, for a kind of box.
func needs(kind string) []string {
	if kind == docker.Kind {
		return []string{checkEngine, checkImage, checkDockerBox}
	}
	return []string{bwrap.LookProgram, checkTree, bwrap.LookBox}
}

type doctorOptions struct {
	sandbox string
	json    bool
	timeout time.Duration
}

func newDoctorCommand(s state) *cobra.Command {
	var o doctorOptions
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what of this machine works, and what mends the rest",
		Long: `Looks at sandboxes, disk, clocks, limits and the sources of telemetry, all at
once and each under a deadline. It changes nothing. Each line has a state: ok;
warn (usable, something suffers); fail; n/a (not here, or not to be known), and
below it what mends it.

The exit status is that of the sandbox that was asked for: 0 if it can be used,
1 if not. Other findings do not change it. Each kind of box that can be used is
tried once.
` + exitHelp,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.timeout < 0 || o.timeout == 0 && c.Flags().Changed("timeout") {
				return usagef("--timeout %s: a deadline is above zero, such as 30s", o.timeout)
			}
			return runDoctor(s, o)
		},
	}
	sandboxFlag(c, &o.sandbox, "usable: auto (any), docker, bwrap")
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON document")
	c.Flags().DurationVar(&o.timeout, "timeout", 0, "deadline of every check, such as 5s")
	c.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(boxKinds(), o.sandbox) {
			return usagef("--sandbox %q is not known: auto, docker or bwrap", o.sandbox)
		}
		return nil
	}
	return c
}

func runDoctor(s state, o doctorOptions) error {
	probes, err := doctorProbes(s)
	if err != nil {
		return err
	}
	stops := listen(s, newProgress(s, false))
	defer stops.end()
	checks := doctor.Run(stops.ctx, probes, o.timeout)
	if stops.ctx.Err() != nil {
		return runner.ErrInterrupted
	}
	write := doctor.WriteText
	if o.json {
		write = doctor.WriteJSON
	}
	if err := write(s.stdout, checks); err != nil {
		return err
	}
	return verdict(o.sandbox, checks)
}

// verdict is an error where the sandbox that was asked for cannot be used.
func verdict(kind string, checks []doctor.Check) error {
	var why []string
	for _, k := range []string{docker.Kind, bwrap.Kind} {
		if kind != kinds.Auto && kind != k {
			continue
		}
		bad := slices.DeleteFunc(needs(k), func(name string) bool {
			return slices.ContainsFunc(checks, func(c doctor.Check) bool { return c.Name == name && c.Usable() })
		})
		if len(bad) == 0 {
			return nil
		}
		why = append(why, fmt.Sprintf("%s boxes cannot be used: mend %s", k, strings.Join(bad, ", ")))
	}
	return incompleteError{strings.Join(why, "\n")}
}
