package plan

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"assay/internal/config"

	"github.com/jedib0t/go-pretty/v6/text"
)

// textWidth is the widest line that Text writes, in terminal columns.
const textWidth = 80

// Text writes the plan for people: what will run, in which order, what that
// costs in loads, and every setting with its origin. No line is wider than 80
// columns; nothing is cut.
func (p Plan) Text(w io.Writer) error {
	var b strings.Builder
	study := p.Cohort.Study
	fmt.Fprintf(&b, "study %s: %s\n\n", study, count(p.Cells(), "cell"))
	p.cells(&b)
	p.orders(&b)
	b.WriteString("hours: n/a (no measured speed yet)\n\n")
	rows := [][]string{{"setting", "value", "origin"}}
	for _, s := range p.Settings {
		rows = append(rows, []string{s.Key, s.Value, s.Origin})
	}
	grid(&b, rows, 33, 25, 18)
	if len(p.Warnings) > 0 {
		b.WriteString("\n")
	}
	for _, warning := range p.Warnings {
		grid(&b, [][]string{{"warning:", warning}}, 8, textWidth-10)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cells writes one row per arm and task.
func (p Plan) cells(b *strings.Builder) {
	type pair struct{ arm, task string }
	type group struct {
		seeds   []int
		repeats int
		cells   int
		variant string
		fixture string
	}
	groups := map[pair]*group{}
	var tasks []string
	for _, c := range p.Cohort.Cells {
		at := pair{c.Arm, c.Task}
		g := groups[at]
		if g == nil {
			g = &group{variant: string(c.Variant), fixture: c.FixtureVersion}
			groups[at] = g
			if c.Arm == p.Arms[0].Name {
				tasks = append(tasks, c.Task)
			}
		}
		if n := len(g.seeds); n == 0 || g.seeds[n-1] != c.Seed {
			g.seeds = append(g.seeds, c.Seed)
		}
		g.repeats = max(g.repeats, c.Repeat)
		g.cells++
	}
	rows := [][]string{{"arm", "task", "variant", "fixture", "seeds", "repeats", "cells"}}
	for _, a := range p.Arms {
		for _, task := range tasks {
			g := groups[pair{a.Name, task}]
			rows = append(rows, []string{
				a.Name, task, g.variant, g.fixture, ranges(g.seeds), strconv.Itoa(g.repeats), strconv.Itoa(g.cells),
			})
		}
	}
	grid(b, rows, 18, 14, 7, 8, 9, 7, 5)
	b.WriteString("\n")
}

// orders writes what each order costs in loads.
func (p Plan) orders(b *strings.Builder) {
	rows := [][]string{{"order", "loads", ""}}
	for _, o := range config.Orders() {
		about := map[config.Order]string{
			config.OrderRounds:      "a seed at a time, arms forwards and backwards by turns",
			config.OrderBlocked:     "an arm at a time; drift falls on the later arms",
			config.OrderInterleaved: "arms take turns at every cell; most loads",
		}[o]
		mark := string(o)
		if p.Cohort.Order == mark {
			mark = "* " + mark
		} else {
			mark = "  " + mark
		}
		rows = append(rows, []string{mark, strconv.Itoa(p.LoadsOf(o)), about})
	}
	grid(b, rows, 14, 6, 56)
	b.WriteString("\n")
}

// grid writes rows in columns of at most the given widths, two spaces apart.
// What does not fit goes on in the next line of its column.
func grid(b *strings.Builder, rows [][]string, widths ...int) {
	for i := range widths {
		need := 0
		for _, row := range rows {
			need = max(need, text.StringWidthWithoutEscSequences(row[i]))
		}
		widths[i] = min(widths[i], need)
	}
	for _, row := range rows {
		var columns [][]string
		height := 0
		for i, cell := range row {
			lines := fold(cell, widths[i])
			columns = append(columns, lines)
			height = max(height, len(lines))
		}
		for y := range height {
			var line strings.Builder
			for i, column := range columns {
				part := ""
				if y < len(column) {
					part = column[y]
				}
				line.WriteString(part)
				line.WriteString(strings.Repeat(" ", max(0, widths[i]-text.StringWidthWithoutEscSequences(part))+2))
			}
			b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		}
	}
}

// fold breaks a text into lines of at most width columns, at a space where
// there is one.
func fold(s string, width int) []string {
	if text.StringWidthWithoutEscSequences(s) <= width {
		return []string{s}
	}
	return strings.Split(text.WrapSoft(s, width), "\n")
}

// ranges writes seeds with runs joined: "1-3, 7".
func ranges(ns []int) string {
	var parts []string
	for i := 0; i < len(ns); {
		j := i
		for j+1 < len(ns) && ns[j+1] == ns[j]+1 {
			j++
		}
		part := strconv.Itoa(ns[i])
		if j > i {
			part += "-" + strconv.Itoa(ns[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func join(words []string) string { return strings.Join(words, ", ") }
