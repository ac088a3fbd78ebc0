package agent

import (
	"context"
	"fmt"
	"strings"
)

// edit replaces the only occurrence of a text in a file.
func (w workspace) edit(ctx context.Context, args arguments) (outcome, error) {
	name, err := insideFile(args.text["path"])
	if err != nil {
		return refuse("%v. %s", err, pathHint), nil
	}
	from, to := args.text["old"], args.text["new"]
	switch {
	case from == "":
		return refuse("old is empty. Give the text to be replaced, or use %s for a whole file.", toolWrite), nil
	case from == to:
		return refuse("old and new are equal: nothing would change."), nil
	}
	data, err := w.box.ReadFile(ctx, name, maxReadBytes)
	if err != nil {
		return failed(ctx, err, "edit", name)
	}
	content := string(data)
	switch n := occurrences(content, from); {
	case n == 0:
		return refuse("old does not occur in %s. %s", quoted(name), missHint(content, from)), nil
	case n > 1:
		return refuse("old occurs %d times in %s (lines %s). Give more of the lines around it, so that it occurs once.",
			n, quoted(name), linesOf(content, from)), nil
	}
	content = strings.Replace(content, from, to, 1)
	if err := w.box.WriteFile(ctx, name, []byte(content), modeOf(content)); err != nil {
		return failed(ctx, err, "edit", name)
	}
	line := 1 + strings.Count(content[:strings.Index(string(data), from)], "\n")
	return told(fmt.Sprintf("replaced 1 occurrence in %s, at line %d", clip(name), line)), nil
}

// occurrences counts also those that overlap: each is a place that could be meant.
func occurrences(content, part string) int {
	n := 0
	for at := strings.Index(content, part); at >= 0; {
		n++
		next := strings.Index(content[at+1:], part)
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return n
}

// linesOf names the lines of the first occurrences.
func linesOf(content, part string) string {
	var lines []string
	line, from := 1, 0
	for {
		next := strings.Index(content[from:], part)
		if next < 0 {
			return strings.Join(lines, ", ")
		}
		if len(lines) == maxNamedLines {
			return strings.Join(lines, ", ") + ", ..."
		}
		line += strings.Count(content[from:from+next], "\n")
		lines = append(lines, fmt.Sprint(line))
		if content[from+next] == '\n' {
			line++
		}
		from += next + 1
	}
}

// missHint says what is likely wrong with a text that was not found.
func missHint(content, part string) string {
	const read = "Read the file and copy the text exactly."
	switch {
	case strings.Contains(content, "\r\n") && strings.Contains(strings.ReplaceAll(content, "\r\n", "\n"), part):
		return `The file ends its lines with \r\n: write them so in old and new.`
	case strings.Contains(squeeze(content), squeeze(part)) && squeeze(part) != "":
		return "A text that differs only in white space does occur. " + read
	}
	return read
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }
