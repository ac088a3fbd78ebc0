package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"assay/internal/bench"
)

// inside turns a model's path into one relative to the workspace. The workspace
// itself is ".".
func inside(p string) (string, error) {
	switch {
	case p == "":
		return "", errors.New("the path is empty")
	case strings.ContainsRune(p, 0):
		return "", fmt.Errorf("the path %s holds a NUL byte", quoted(p))
	}
	clean := path.Clean(p)
	if clean == workspaceInBox {
		return ".", nil
	}
	clean = strings.TrimPrefix(clean, workspaceInBox+"/")
	if path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") {
		return "", fmt.Errorf("the path %s is outside the workspace", quoted(p))
	}
	return clean, nil
}

func insideFile(p string) (string, error) {
	clean, err := inside(p)
	if err == nil && clean == "." {
		return "", fmt.Errorf("the path %s is the workspace itself, not a file", quoted(p))
	}
	return clean, err
}

const pathHint = "Give a path relative to the workspace, such as src/main.py."

// failed says what a box made of a file, or passes on an error that ends the
// attempt.
func failed(ctx context.Context, err error, what, p string) (outcome, error) {
	switch {
	case errors.Is(err, bench.ErrBoxLost), ctx.Err() != nil:
		return outcome{}, err
	case errors.Is(err, fs.ErrNotExist):
		return refuse("cannot %s %s: it does not exist. Use %s to see what there is.", what, quoted(p), toolList), nil
	case errors.Is(err, fs.ErrPermission):
		return refuse("cannot %s %s: permission denied.", what, quoted(p)), nil
	}
	return refuse("cannot %s %s: %s.", what, quoted(p), clip(err.Error())), nil
}

func (w workspace) read(ctx context.Context, args arguments) (outcome, error) {
	name, err := insideFile(args.text["path"])
	if err != nil {
		return refuse("%v. %s", err, pathHint), nil
	}
	first, hasFirst := args.integer["start_line"]
	last, hasLast := args.integer["end_line"]
	switch {
	case hasFirst && first < 1:
		return refuse("start_line is %d. Lines are counted from 1.", first), nil
	case hasLast && last < max(first, 1):
		return refuse("end_line is %d, before start_line %d.", last, max(first, 1)), nil
	}
	data, err := w.box.ReadFile(ctx, name, maxReadBytes)
	if err != nil {
		return failed(ctx, err, "read", name)
	}
	if len(data) == 0 {
		return told(fmt.Sprintf("%s is empty", clip(name))), nil
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	count := int64(len(lines))
	first = max(first, 1)
	if !hasLast || last > count {
		last = count
	}
	if first > count {
		return refuse("start_line is %d, but %s has %s.", first, quoted(name), counted(int(count), "line")), nil
	}
	head := fmt.Sprintf("%s, lines %d to %d of %d:\n", clip(name), first, last, count)
	part := bytes.Join(lines[first-1:last], nil)
	body := show(part, int64(len(part)), max(w.limits.ToolOutputBytes-len(head)-len(escapedNote)-1, 0))
	if body.escaped {
		head = strings.TrimSuffix(head, "\n") + " " + escapedNote + "\n"
	}
	return told(head + body.text), nil
}

func (w workspace) write(ctx context.Context, args arguments) (outcome, error) {
	name, err := insideFile(args.text["path"])
	if err != nil {
		return refuse("%v. %s", err, pathHint), nil
	}
	// The box would put the file in the place of a whole folder.
	if _, err := w.box.ListFiles(ctx, name, 1); err == nil {
		return refuse("cannot write %s: it is a folder. Give the path of a file.", quoted(name)), nil
	} else if errors.Is(err, bench.ErrBoxLost) || ctx.Err() != nil {
		return outcome{}, err
	}
	content := args.text["content"]
	if err := w.box.WriteFile(ctx, name, []byte(content), modeOf(content)); err != nil {
		return failed(ctx, err, "write", name)
	}
	return told(fmt.Sprintf("wrote %s to %s", counted(len(content), "byte"), clip(name))), nil
}

// modeOf is the mode of a written or edited file. A box does not tell the x bit of
// what is there, so it follows from the content alone: a program without #! loses
// it, which the tools tell the model.
func modeOf(content string) fs.FileMode {
	if strings.HasPrefix(content, "#!") {
		return 0o755
	}
	return 0o644
}

func (w workspace) list(ctx context.Context, args arguments) (outcome, error) {
	name := "."
	if given := args.text["path"]; given != "" {
		clean, err := inside(given)
		if err != nil {
			return refuse("%v. %s", err, pathHint), nil
		}
		name = clean
	}
	entries, err := w.box.ListFiles(ctx, name, maxListEntries)
	if err != nil {
		return failed(ctx, err, "list", name)
	}
	var b strings.Builder
	for _, e := range entries {
		switch e.Kind {
		case "truncated":
			fmt.Fprintf(&b, "[... more than %d entries: list a folder below ...]\n", maxListEntries)
		case "dir":
			fmt.Fprintf(&b, "%s/\n", oneLine(e.Path))
		case "file":
			fmt.Fprintf(&b, "%s  %s\n", oneLine(e.Path), counted(int(e.Size), "byte"))
		default:
			fmt.Fprintf(&b, "%s  (%s)\n", oneLine(e.Path), e.Kind)
		}
	}
	if b.Len() == 0 {
		return told(fmt.Sprintf("%s has no files", clip(name))), nil
	}
	return told(show([]byte(b.String()), int64(b.Len()), w.limits.ToolOutputBytes).text), nil
}

// oneLine keeps a file name from looking like two entries.
func oneLine(name string) string {
	return strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(name)
}
