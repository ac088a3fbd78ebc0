package report

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"assay/internal/bench"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

const (
	width     = 80
	nameWidth = 18 // longest arm name shown whole in a table
	maxLines  = 12 // lines of the list of failed attempts
)

// WriteText prints the report for a terminal of 80 columns.
func (r Report) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	if len(r.Cohorts) == 0 {
		fmt.Fprintln(b, "no cohort in this database")
	}
	for i, c := range r.Cohorts {
		if i > 0 {
			fmt.Fprintln(b)
		}
		c.writeText(b)
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func (c Cohort) writeText(w io.Writer) {
	head := Printable(c.Study)
	if c.Simulated {
		head += "   SIMULATED"
	}
	for _, f := range c.Fixtures {
		head += "   " + Printable(f.Task) + " " + f.Version
	}
	head += "   scaffold " + short(c.Scaffold) + "   order " + c.Order
	fmt.Fprintln(w, wrap(head, ""))
	fmt.Fprintln(w)
	c.countTable(w)
	fmt.Fprintln(w)
	c.speedTable(w)
	fmt.Fprintln(w)
	c.grid(w)
	c.failures(w)
	for _, warning := range c.Warnings {
		fmt.Fprintln(w, wrap("WARNING  "+Printable(warning), "         "))
	}
	c.unknowns(w)
}

func (c Cohort) countTable(w io.Writer) {
	t := newTable("arm", "planned", "complete", "invalid", "not run", "functional", "delivered")
	for _, name := range c.ArmOrder {
		a := c.Arms[name]
		t.AppendRow(table.Row{label(name), a.Planned, a.Complete, a.Invalid, a.NotRun + a.Open + a.Ungraded, score(a.Functional, a), score(a.Delivered, a)})
	}
	render(w, t)
}

// score prints a count out of the complete cells; where no score is to be made,
// the count alone.
func score(n int, a Arm) string {
	switch {
	case a.Complete == 0:
		return "n/a"
	case !a.Scored:
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d/%d", n, a.Complete)
}

func (c Cohort) speedTable(w io.Writer) {
	t := newTable("arm", "decode t/s", "task t/s", "tokens", "decode s", "task s", "s/deliv")
	for _, name := range c.ArmOrder {
		a := c.Arms[name]
		t.AppendRow(table.Row{label(name), number(a.DecodeTPS, 1), number(a.TaskOutputTPS, 1), whole(a.NativeOutputTokens),
			number(a.DecodeSeconds, 1), number(a.TaskSeconds, 1), number(a.SecondsPerDelivered, 0)})
	}
	render(w, t)
	fmt.Fprintln(w, "decode t/s = tokens / decode s, both the engine's; task t/s = tokens / task s")
}

// failures lists what kept attempts from being delivered.
func (c Cohort) failures(w io.Writer) {
	n := 0
	for _, a := range c.Attempts {
		if a.Delivered != nil && *a.Delivered {
			continue
		}
		if n++; n > maxLines {
			continue
		}
		line := Printable(bench.Cell{Arm: a.Arm, Task: a.Task, Seed: a.Seed, Repeat: a.Repeat}.String()) + ": "
		if a.Stop == "" {
			line += a.StopMessage
		} else {
			line += a.Stop
		}
		switch {
		case a.ChecksTotal != nil:
			line += fmt.Sprintf(", %d/%d checks", *a.ChecksPassed, *a.ChecksTotal)
		case a.GradingFault != "":
			line += ", not graded, our side failed: " + Printable(a.GradingFault)
		case a.Counts:
			line += ", not graded yet"
		}
		if len(a.FailedChecks) > 0 {
			line += ", failed " + strings.Join(a.FailedChecks, " ")
		}
		if len(a.Flags) > 0 {
			line += ", " + strings.Join(a.Flags, " ")
		}
		if !a.Counts && a.Stop != "" && a.StopMessage != "" {
			line += ": " + Printable(a.StopMessage)
		}
		fmt.Fprintln(w, wrap(line, "  "))
	}
	if n > maxLines {
		fmt.Fprintf(w, "… and %d more attempts not delivered; --format json has all\n", n-maxLines)
	}
	if n > 0 {
		fmt.Fprintln(w)
	}
}

// unknowns names the figures that are n/a, each reason once.
func (c Cohort) unknowns(w io.Writer) {
	why := map[string][]string{}
	for _, name := range c.ArmOrder {
		for figure, reason := range c.Arms[name].NA {
			if figure == "draft_tokens" {
				continue // printed nowhere in text
			}
			key := Printable(name) + ": " + reason
			why[key] = append(why[key], figure)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(why)) {
		figures := why[key]
		slices.Sort(figures)
		fmt.Fprintln(w, wrap("n/a      "+key+" ("+strings.Join(figures, ", ")+")", "         "))
	}
}

func newTable(header ...any) table.Writer {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	t.AppendHeader(table.Row(header))
	configs := make([]table.ColumnConfig, 0, len(header))
	for i := 1; i < len(header); i++ {
		configs = append(configs, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	return t
}

// render prints a table without trailing blanks.
func render(w io.Writer, t table.Writer) {
	for line := range strings.SplitSeq(t.Render(), "\n") {
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}
