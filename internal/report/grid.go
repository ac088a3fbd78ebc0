package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"assay/internal/bench"

	"github.com/jedib0t/go-pretty/v6/table"
)

const gridColumns = 15 // of one table

// column is a task with a seed and repeat: what pairs the arms.
type column struct {
	task         string
	seed, repeat int
}

// columns are those of the planned cells, also where no arm was tried.
func (c Cohort) columns() []column {
	seen := map[column]bool{}
	var list []column
	for _, cell := range c.planned {
		col := column{cell.Task, cell.Seed, cell.Repeat}
		if !seen[col] {
			seen[col] = true
			list = append(list, col)
		}
	}
	slices.SortFunc(list, func(a, b column) int {
		return cmp.Or(cmp.Compare(a.task, b.task), cmp.Compare(a.seed, b.seed), cmp.Compare(a.repeat, b.repeat))
	})
	return list
}

// grid shows each cell's outcome, a column a task and seed.
func (c Cohort) grid(w io.Writer) {
	columns := c.columns()
	shown := map[string]map[column]Attempt{} // the counting attempt, else the newest
	for _, a := range c.Attempts {
		if shown[a.Arm] == nil {
			shown[a.Arm] = map[column]Attempt{}
		}
		if col := (column{a.Task, a.Seed, a.Repeat}); !shown[a.Arm][col].Counts {
			shown[a.Arm][col] = a
		}
	}
	if len(columns) == 0 {
		return
	}
	for start := 0; start < len(columns); {
		end := start
		task := columns[start].task
		for end < len(columns) && columns[end].task == task && end-start < gridColumns {
			end++
		}
		header := []any{Printable(task) + " seed"}
		for _, col := range columns[start:end] {
			h := fmt.Sprint(col.seed)
			if col.repeat > 1 {
				h += fmt.Sprintf("/%d", col.repeat)
			}
			header = append(header, h)
		}
		t := newTable(header...)
		for _, name := range c.ArmOrder {
			row := table.Row{label(name)}
			for _, col := range columns[start:end] {
				mark := "."
				if a, ok := shown[name][col]; ok {
					mark = outcome(a)
				}
				row = append(row, mark)
			}
			t.AppendRow(row)
		}
		render(w, t)
		start = end
	}
	fmt.Fprintln(w, "D delivered, F functional but not delivered, - not functional, ! invalid,")
	fmt.Fprintln(w, "? open or not graded yet, . not run")
	fmt.Fprintln(w)
}

func outcome(a Attempt) string {
	switch {
	case !a.Counts && (a.Stop == "" || a.Stop == string(bench.StopInterrupted)):
		return "?"
	case !a.Counts || a.GradingFault != "":
		return "!"
	case a.Functional == nil:
		return "?"
	case *a.Delivered:
		return "D"
	case *a.Functional:
		return "F"
	}
	return "-"
}
