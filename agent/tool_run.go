package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"assay/internal/bench"
)

// outcome is what a tool made of a call. same is the answer without what differs
// from one time to the next, for loop detection.
type outcome struct {
	answer string
	same   string
	ok     bool
}

func told(answer string) outcome { return outcome{answer: answer, same: answer, ok: true} }

// refuse is a tool error, written for the model.
func refuse(format string, args ...any) outcome {
	text := "error: " + fmt.Sprintf(format, args...)
	return outcome{answer: text, same: text}
}

// workspace runs the tools of one attempt in its box.
type workspace struct {
	box    Box
	limits bench.Limits
}

// run executes a command line. left is what remains of the task time.
func (w workspace) run(ctx context.Context, command string, left time.Duration) (outcome, error) {
	switch {
	case strings.TrimSpace(command) == "":
		return refuse("the command is empty. Give a command line for /bin/sh -c."), nil
	case strings.ContainsRune(command, 0):
		return refuse("the command holds a NUL byte, which no command line can hold. Write such bytes with printf '\\000'."), nil
	case len(command) > maxCommandBytes:
		return refuse("the command has %d bytes, at most %d are possible. Put the text into a file with %s and run that.",
			len(command), maxCommandBytes, toolWrite), nil
	}
	wall, limit := w.limits.CommandTime, "command_seconds"
	if left < wall {
		wall, limit = left, "max_seconds"
	}
	ctx, cancel := context.WithTimeout(ctx, wall+boxPatience)
	defer cancel()
	r, err := w.box.Run(ctx, bench.Command{
		Argv: []string{"/bin/sh", "-c", command},
		Env:  commandEnv(),
		Limits: bench.ProcessLimits{
			Wall:        wall,
			OutputBytes: maxStreamBytes,
			// Twice what is shown: where the box cuts, its mark lies in the middle
			// that is left out here, with the true count.
			KeepBytes: 2 * int64(w.limits.ToolOutputBytes),
		},
	})
	switch {
	case err == nil:
		return w.describe(r, wall, limit), nil
	case errors.Is(err, bench.ErrBoxLost), ctx.Err() != nil:
		return outcome{}, err
	}
	return refuse("the command could not be run: %s.", clip(err.Error())), nil
}

func (w workspace) describe(r bench.CommandResult, wall time.Duration, limit string) outcome {
	head, timing := ending(r.Exit, wall, limit)
	budget := w.limits.ToolOutputBytes - len(head) - len(timing) - answerReserve
	out, errs := share(r, max(budget, 0))
	var b strings.Builder
	for _, part := range []struct {
		name string
		shown
	}{{"stdout", out}, {"stderr", errs}} {
		if part.text == "" {
			continue
		}
		fmt.Fprintf(&b, "\n%s:\n%s", part.name, strings.TrimSuffix(part.text, "\n"))
	}
	if b.Len() == 0 {
		b.WriteString("\n(no output)")
	}
	if out.escaped || errs.escaped {
		b.WriteString("\n" + escapedNote)
	}
	return outcome{answer: head + timing + b.String(), same: head + b.String(), ok: r.Reason == bench.ExitExited && r.Code == 0}
}

const escapedNote = `(control bytes and bytes that are not UTF-8 are shown as \xNN)`

// share gives each stream half of the budget, and what one does not need to the
// other.
func share(r bench.CommandResult, budget int) (out, errs shown) {
	errs = show(r.Stderr, r.StderrBytes, budget/2)
	out = show(r.Stdout, r.StdoutBytes, budget-len(errs.text))
	if errs.cut && len(out.text) < budget/2 {
		errs = show(r.Stderr, r.StderrBytes, budget-len(out.text))
	}
	return out, errs
}

// ending says how a command ended. timing differs from run to run.
func ending(e bench.Exit, wall time.Duration, limit string) (head, timing string) {
	took := fmt.Sprintf(" It ran %s.", seconds(e.Wall))
	switch e.Reason {
	case bench.ExitExited:
		return fmt.Sprintf("exit code %d", e.Code), ""
	case bench.ExitSignalled:
		return fmt.Sprintf("ended by signal %d", e.Signal), ""
	case bench.ExitWallLimit:
		return fmt.Sprintf("ended by the limit %s of %s.", limit, seconds(wall)), took
	case bench.ExitCPULimit:
		return fmt.Sprintf("ended by the limit cpu time of %s.", seconds(wall)), took
	case bench.ExitOutputLimit:
		return fmt.Sprintf("ended by the limit output of %d bytes a stream.", maxStreamBytes),
			fmt.Sprintf(" It wrote %d bytes to stdout and %d to stderr.", e.StdoutBytes, e.StderrBytes) + took
	case bench.ExitMemoryLimit:
		return "ended by the memory limit of the workspace.", took
	case bench.ExitNotStarted:
		return "not started: " + clip(e.Message), ""
	}
	return "ended: " + string(e.Reason) + ".", took
}
