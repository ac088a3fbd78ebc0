package agent

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"assay/internal/bench"

	"github.com/google/go-cmp/cmp"
)

func TestEditFile(t *testing.T) {
	tests := []struct {
		name           string
		file, old, new string
		want           string // content afterwards
		says           string
		ok             bool
	}{
		{"once", "a\nb\nc\n", "b", "x\ny", "a\nx\ny\nc\n", "at line 2", true},
		{"deleted", "ab", "a", "", "b", "replaced 1", true},
		{"dollar and backslash are plain", "x", "x", `$1\n`, `$1\n`, "replaced 1", true},
		{"several lines", "a\n  b\nc", "a\n  b", "z", "z\nc", "at line 1", true},
		{"absent", "abc", "x", "y", "abc", "does not occur", false},
		{"twice", "a\na\n", "a", "b", "a\na\n", "2 times in \"f\" (lines 1, 2)", false},
		{"many times", strings.Repeat("a\n", 9), "a", "b", strings.Repeat("a\n", 9), "lines 1, 2, 3, 4, 5, ...", false},
		{"overlapping", "aaa", "aa", "b", "aaa", "2 times", false},
		{"starting with a newline", "\n\nx\n\n", "\n", "", "\n\nx\n\n", "4 times in \"f\" (lines 1, 2, 3, 4)", false},
		{"empty old", "a", "", "b", "a", "old is empty", false},
		{"no change", "a", "a", "a", "a", "nothing would change", false},
		{"other white space", "if x:\n\treturn\n", "if x:\n    return", "y", "if x:\n\treturn\n", "only in white space", false},
		{"dos lines", "a\r\nb\r\n", "a\nb", "c", "a\r\nb\r\n", `\r\n`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			box := &memory{files: map[string]string{"f": tt.file}}
			out, err := workspace{box: box, limits: job().Limits}.edit(t.Context(),
				arguments{text: map[string]string{"path": "f", "old": tt.old, "new": tt.new}})
			if err != nil || out.ok != tt.ok || !strings.Contains(out.answer, tt.says) || box.files["f"] != tt.want {
				t.Errorf("ok %v, answer %q, file %q, error %v", out.ok, out.answer, box.files["f"], err)
			}
		})
	}
}

func TestFileTools(t *testing.T) {
	tests := []struct {
		name, tool, args string
		says             string
		ok               bool
	}{
		{"whole file", "read_file", `{"path":"f"}`, "f, lines 1 to 3 of 3:\none\ntwo\nthree", true},
		{"some lines", "read_file", `{"path":"./d/../f","start_line":2,"end_line":2.0}`, "f, lines 2 to 2 of 3:\ntwo\n", true},
		{"end beyond the file", "read_file", `{"path":"/w/f","start_line":3,"end_line":900}`, "lines 3 to 3 of 3:\nthree", true},
		{"start beyond the file", "read_file", `{"path":"f","start_line":4}`, "has 3 lines", false},
		{"line zero", "read_file", `{"path":"f","start_line":0}`, "counted from 1", false},
		{"backwards", "read_file", `{"path":"f","start_line":3,"end_line":2}`, "before start_line 3", false},
		{"negative end", "read_file", `{"path":"f","end_line":-1}`, "before start_line 1", false},
		{"empty file", "read_file", `{"path":"e"}`, "e is empty", true},
		{"binary", "read_file", `{"path":"b"}`, `\x00\x1b]0;\xff`, true},
		{"absent", "read_file", `{"path":"nope"}`, "does not exist. Use list_files", false},
		{"too big", "read_file", `{"path":"big"}`, "more than 4194304", false},
		{"absolute", "read_file", `{"path":"/etc/passwd"}`, "outside the workspace", false},
		{"upwards", "write_file", `{"path":"a/../../x","content":""}`, "outside the workspace", false},
		{"beside the workspace", "read_file", `{"path":"/wide"}`, "outside the workspace", false},
		{"workspace as a file", "write_file", `{"path":"/w/","content":""}`, "the workspace itself", false},
		{"empty path", "write_file", `{"path":"","content":""}`, "path is empty", false},
		{"NUL", "read_file", `{"path":"a\u0000b"}`, "NUL", false},
		{"edit of an absent file", "edit_file", `{"path":"nope","old":"a","new":"b"}`, "cannot edit", false},
		{"written", "write_file", `{"path":"n","content":"é"}`, "wrote 2 bytes to n", true},
		{"listed", "list_files", `{"path":"d"}`, `d/x\ny  1 byte`, true},
		{"absent folder", "list_files", `{"path":"q"}`, "cannot list", false},
		{"folder in the way", "write_file", `{"path":"d","content":"x"}`, "it is a folder", false},
		{"null path", "list_files", `{"path":null}`, "f  13 bytes", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			box := &memory{files: map[string]string{
				"f": "one\ntwo\nthree", "e": "", "b": "\x00\x1b]0;\xff", "big": strings.Repeat("x", 5<<20), "d/x\ny": "1",
			}}
			_, n := mustRun(t, t.Context(), job(), script(calls(tt.tool, tt.args), submits), box)
			if s := n.tools()[0]; s.OK != tt.ok || !strings.Contains(s.Answer, tt.says) || s.Bad != "" {
				t.Errorf("ok %v, bad %q, answer %q", s.OK, s.Bad, s.Answer)
			}
		})
	}
}

func TestScriptsStayExecutable(t *testing.T) {
	box := &memory{files: map[string]string{"s": "#!/bin/sh\nold\n"}}
	mustRun(t, t.Context(), job(), script(calls(
		"edit_file", `{"path":"s","old":"old","new":"new"}`, "write_file", `{"path":"t","content":"#!/bin/sh\n"}`,
		"write_file", `{"path":"u","content":"x"}`, "submit", "{}")), box)
	if d := cmp.Diff(map[string]fs.FileMode{"s": 0o755, "t": 0o755, "u": 0o644}, box.modes); d != "" {
		t.Errorf("modes (-want +got):\n%s", d)
	}
}

func TestRunAnswers(t *testing.T) {
	exited := bench.Exit{Reason: bench.ExitExited}
	tests := []struct {
		name string
		give bench.CommandResult
		want string
		ok   bool
	}{
		{"nothing", bench.CommandResult{Exit: exited}, "exit code 0\n(no output)", true},
		{"both streams", bench.CommandResult{Exit: bench.Exit{Reason: bench.ExitExited, Code: 2}, Stdout: []byte("o\n"), Stderr: []byte("e\n")},
			"exit code 2\nstdout:\no\nstderr:\ne", false},
		{"signal", bench.CommandResult{Exit: bench.Exit{Reason: bench.ExitSignalled, Signal: 11}}, "ended by signal 11\n(no output)", false},
		{"wall limit", bench.CommandResult{Exit: bench.Exit{Reason: bench.ExitWallLimit, Wall: 30012 * time.Millisecond}, Stdout: []byte("half")},
			"ended by the limit command_seconds of 30 s. It ran 30.012 s.\nstdout:\nhalf", false},
		{"output limit", bench.CommandResult{Exit: bench.Exit{Reason: bench.ExitOutputLimit, Wall: time.Second, StdoutBytes: 5000, StderrBytes: 1},
			Stdout: []byte("yy"), Stderr: []byte("z")},
			"ended by the limit output of 67108864 bytes a stream. It wrote 5000 bytes to stdout and 1 to stderr. It ran 1 s.\n" +
				"stdout:\nyy\n[... 4998 bytes left out ...]\nstderr:\nz", false},
		{"CPU limit", bench.CommandResult{Exit: bench.Exit{Reason: bench.ExitCPULimit, Wall: 31 * time.Second}},
			"ended by the limit cpu time of 30 s. It ran 31 s.\n(no output)", false},
		{"memory limit", bench.CommandResult{Exit: bench.Exit{Reason: bench.ExitMemoryLimit, Wall: time.Second}},
			"ended by the memory limit of the workspace. It ran 1 s.\n(no output)", false},
		{"killed", bench.CommandResult{Exit: bench.Exit{Reason: bench.ExitKilled, Wall: time.Second}}, "ended: killed. It ran 1 s.\n(no output)", false},
		{"not started", bench.CommandResult{Exit: bench.Exit{Reason: bench.ExitNotStarted, Message: "no /bin/sh"}}, "not started: no /bin/sh\n(no output)", false},
		{"escapes", bench.CommandResult{Exit: exited, Stdout: []byte("\x1b[2J\xff\u0085é\n")},
			"exit code 0\nstdout:\n\\x1b[2J\\xff\\xc2\\x85é\n" + escapedNote, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			box := &memory{exec: func(context.Context, bench.Command) (bench.CommandResult, error) { return tt.give, nil }}
			_, n := mustRun(t, t.Context(), job(), script(calls("run", `{"command":"x"}`), submits), box)
			if s := n.tools()[0]; s.Answer != tt.want || s.OK != tt.ok {
				t.Errorf("ok %v, answer %q, want %q", s.OK, s.Answer, tt.want)
			}
		})
	}
}

func TestRunCommand(t *testing.T) {
	box := &memory{}
	m := script(calls("run", `{"command":" "}`, "run", `{"command":"a\u0000"}`, "run", `{"command":"`+strings.Repeat("x", maxCommandBytes+1)+`"}`,
		"run", `{"command":"ls \"$HOME\""}`, "submit", "{}"))
	_, n := mustRun(t, t.Context(), job(), m, box)
	want := []bench.Command{{
		Argv: []string{"/bin/sh", "-c", `ls "$HOME"`}, Env: []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/tmp"},
		Limits: bench.ProcessLimits{Wall: 30 * time.Second, OutputBytes: 64 << 20, KeepBytes: 8192},
	}}
	if d := cmp.Diff(want, box.commands); d != "" {
		t.Errorf("commands (-want +got):\n%s", d)
	}
	for i, says := range []string{"is empty", "NUL", "write_file"} {
		if s := n.tools()[i]; s.OK || !strings.Contains(s.Answer, says) {
			t.Errorf("answer %q, want %q in it", s.Answer, says)
		}
	}
}

// A box that broke its promise and kept 41 MB must not flood the history.
func TestHugeOutputIsBounded(t *testing.T) {
	huge := []byte(strings.Repeat("é€\x1b\n", 41_000_000/7))
	for _, reason := range []bench.ExitReason{bench.ExitExited, bench.ExitWallLimit} {
		box := &memory{exec: func(context.Context, bench.Command) (bench.CommandResult, error) {
			return bench.CommandResult{Exit: bench.Exit{Reason: reason, StdoutBytes: int64(len(huge)), StderrBytes: int64(len(huge))},
				Stdout: huge, Stderr: huge}, nil
		}}
		_, n := mustRun(t, t.Context(), job(), script(calls("run", `{"command":"x"}`), submits), box)
		answer := n.tools()[0].Answer
		if len(answer) > 4096 || len(answer) < 3000 || !utf8.ValidString(answer) || strings.Count(answer, "bytes left out") != 2 {
			t.Errorf("%s: %d bytes: %q", reason, len(answer), answer)
		}
	}
}

func TestShow(t *testing.T) {
	raw := []byte(strings.Repeat("€", 1000))
	for budget := range 700 {
		got := show(raw, 1_000_000, budget)
		if len(got.text) > budget || !utf8.ValidString(got.text) || !got.cut {
			t.Fatalf("budget %d: %d bytes, cut %v: %q", budget, len(got.text), got.cut, got.text)
		}
		if budget > 2*markReserve {
			kept := 3 * strings.Count(got.text, "€")
			if mark := fmt.Sprintf("[... %d bytes left out ...]", 1_000_000-kept); !strings.Contains(got.text, mark) {
				t.Fatalf("budget %d: %q has no mark %q", budget, got.text, mark)
			}
		}
	}
	if got := show(raw, 3000, 3000); got.cut || got.text != string(raw) {
		t.Errorf("text that fits was cut")
	}
}

func TestLongListIsCut(t *testing.T) {
	files := map[string]string{}
	for i := range maxListEntries + 1 {
		files[fmt.Sprintf("f%05d", i)] = ""
	}
	j := job()
	j.Limits.ToolOutputBytes = 1 << 20
	_, n := mustRun(t, t.Context(), j, script(calls("list_files", "{}", "submit", "{}")), &memory{files: files})
	if s := n.tools()[0].Answer; !strings.HasSuffix(s, "f00999  0 bytes\n[... more than 1000 entries: list a folder below ...]\n") {
		t.Errorf("answer ends with %q", s[max(0, len(s)-200):])
	}
}

// A command that goes on after the task time is over is ended by the task's
// limit, and the answer names that one.
func TestTheLimitThatFiredIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := job()
		j.Limits.MaxTime = 20 * time.Second
		_, n := mustRun(t, t.Context(), j, script(calls("run", `{"command":"x"}`)), &memory{exec: sleeper})
		if s := n.tools()[0].Answer; !strings.HasPrefix(s, "ended by the limit max_seconds of 20 s. It ran 20 s.") {
			t.Errorf("answer %q", s)
		}
	})
}

// A command that begins when the time is just over gets the least time there is,
// not a box's default.
func TestACommandNeverGetsNoLimit(t *testing.T) {
	box := &memory{}
	a := &attempt{job: job(), work: workspace{box: box, limits: job().Limits}}
	a.clock.start = time.Now().Add(-time.Hour)
	c := call{tool: tool{name: toolRun}, args: arguments{text: map[string]string{"command": "x"}}}
	if _, err := a.execute(t.Context(), c); err != nil || len(box.commands) != 1 || box.commands[0].Limits.Wall != time.Millisecond {
		t.Errorf("error %v, commands %+v", err, box.commands)
	}
}

func TestBoxErrorsAreToldToTheModel(t *testing.T) {
	box := &memory{fail: fmt.Errorf("no space left on device")}
	_, n := mustRun(t, t.Context(), job(), script(calls("run", `{"command":"x"}`, "write_file", `{"path":"a","content":"b"}`,
		"read_file", `{"path":"a"}`, "list_files", `{}`, "edit_file", `{"path":"a","old":"b","new":"c"}`, "submit", "{}")), box)
	for _, s := range n.tools()[:5] {
		if s.OK || !strings.HasPrefix(s.Answer, "error: ") || !strings.Contains(s.Answer, "no space left") {
			t.Errorf("%s: ok %v, answer %q", s.Tool, s.OK, s.Answer)
		}
	}
}
