package tasks

import (
	"strconv"
	"strings"
)

// Clause is a numbered demand of an instruction: a line that begins with its
// number, a point and a blank, up to the next clause or heading.
type Clause struct {
	ID   string // "7"
	Line int    // in the instruction, from 1
	Text string // its lines without the number, joined by blanks
}

// Clauses returns the numbered clauses of an instruction in their order. Lines
// inside fenced or indented code are no clauses.
func Clauses(instruction string) []Clause {
	var found []Clause
	open, fenced := false, false
	for i, line := range strings.Split(instruction, "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if id, text, ok := numbered(line); ok && !fenced {
			found = append(found, Clause{ID: id, Line: i + 1, Text: text})
			open = true
			continue
		}
		if strings.HasPrefix(line, "#") {
			open = false
		}
		if text := strings.TrimSpace(line); open && text != "" {
			found[len(found)-1].Text += " " + text
		}
	}
	return found
}

func numbered(line string) (id, text string, ok bool) {
	id, text, ok = strings.Cut(line, ". ")
	if !ok || id == "" || strings.Trim(id, "0123456789") != "" {
		return "", "", false
	}
	return id, strings.TrimSpace(text), true
}

// checkClauses notes clauses that are not numbered 1, 2, 3, ….
func checkClauses(file string, clauses []Clause, faults *Faults) {
	if len(clauses) == 0 {
		faults.Add(file, 0, "no numbered clause; checks need clauses to refer to")
	}
	for i, c := range clauses {
		if want := strconv.Itoa(i + 1); c.ID != want {
			faults.Add(file, c.Line, "clause %s stands where clause %s is expected", c.ID, want)
			return
		}
	}
}
