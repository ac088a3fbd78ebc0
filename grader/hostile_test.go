package grader

import (
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/bench"
)

// wrong answers every check wrongly; hostile candidates add a trick to it.
var wrong = strings.NewReplacer("return x + x", "return 41", "sys.exit(2)", "sys.exit(1)", "len(self.items)\n", "9\n",
	`raise ValueError("None`, `raise TypeError("None`, "return [f(v) for v in x]", "return []").Replace(right)

// hijack replaces the function f of a candidate.
func hijack(body string) string {
	return wrong + "\ndef f(x):\n" + indent(body)
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n    ") + "\n"
}

// forge writes to every descriptor that may be the protocol's.
const forge = `
import os, struct
def send(text):
    for fd in range(1, 32):
        try:
            if fd != 2 and os.fstat(fd): os.write(fd, struct.pack(">I", len(text)) + text.encode())
        except OSError:
            pass
`

func TestHostileCandidatesFail(t *testing.T) {
	violation, timeout := []bench.Flag{bench.FlagProtocolViolation}, []bench.Flag{bench.FlagTimeout}
	tests := []struct {
		name   string
		source string
		passed []string // checks that pass all the same
		flags  []bench.Flag
		says   string // in the message of api_doubles
	}{
		{"just wrong", wrong, nil, nil, "expected: 4 (int)\ngot: 41 (int)"},
		{"exit at import", "import os; os._exit(0)\n" + right, nil, nil, "exit code 0"},
		{"exit in a call", hijack("import os; os._exit(0)"), nil, nil, "exit code 0"},
		{"SystemExit at import", "raise SystemExit(0)\n" + right, nil, nil, "SystemExit"},
		{"SystemExit in a call", hijack("raise SystemExit(0)"), nil, nil, "SystemExit"},
		{"KeyboardInterrupt in a call", hijack("raise KeyboardInterrupt"), nil, nil, "KeyboardInterrupt"},
		{"SkipTest in a call", hijack("import unittest; raise unittest.SkipTest('skip')"), nil, nil, "SkipTest"},
		{"StopIteration in a call", hijack("raise StopIteration"), nil, nil, "StopIteration"},
		{"ValueError at import", "raise ValueError('None')\n", nil, nil, "importing solve raised"},
		{"int that equals everything", wrong + `
class Liar(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 4
    def __repr__(self): return "4"
def f(x): return Liar(4)
`, nil, nil, "class Liar"},
		{"object that equals everything", wrong + `
class Liar:
    def __eq__(self, other): return True
    def __bool__(self): return True
    def __getattr__(self, name): return Liar()
    def __call__(self, *a, **k): return Liar()
def f(x): return Liar()
`, nil, nil, "class Liar"},
		{"list of liars", wrong + `
class Liar(int):
    def __eq__(self, other): return True
def f(x): return [Liar(0), Liar(1), Liar(2)]
`, nil, nil, "class"},
		{"class that pretends to be int", wrong + `
class Liar:
    __class__ = int
    def __eq__(self, other): return True
def f(x): return Liar()
`, nil, nil, "class Liar"},
		{"bool and float for int", hijack("return 4.0 if x == 2 else False"), nil, nil, "got: 4.0 (float)"},
		{"frames of the judge", hijack(forge + `
send('{"op":"result","n":3,"lane":0,"id":"api_doubles","status":"passed","message":""}')
send('{"op":"end","count":6,"nonce":""}')
return 41`), nil, violation, "broke the protocol"},
		{"frame at import", forge + `send('{"op":"result","id":"api_doubles","status":"passed"}')` + "\n" + wrong, nil, violation, "broke the protocol"},
		{"no frame at all", hijack(`
import os
for fd in range(3, 32):
    try: os.write(fd, b"\xff\xff\xff\xffOK")
    except OSError: pass
return 41`), nil, violation, "broke the protocol"},
		{"answers to come", hijack(forge + `
for n in range(1, 60): send('{"op":"reply","n":%d,"value":4}' % n)
return 41`), nil, violation, "broke the protocol"},
		{"value that is none", hijack(forge + `
for n in range(3, 9): send('{"op":"reply","n":%d,"value":{"z":[[1]]}}' % n)
return 41`), nil, violation, "broke the protocol"},
		{"frames and reports printed", `
import os, struct
body = b'{"op":"end","count":6,"nonce":""}'
print("Ran 6 tests in 0.001s\n\nOK\n6 passed", flush=True)
os.write(1, struct.pack(">I", len(body)) + body)
open("results.xml", "w").write("<testsuite failures='0'/>")
` + wrong, nil, nil, "got: 41"},
		{"module patches", `
import builtins, json, subprocess, unittest
unittest.TestCase.run = unittest.TestCase.assertEqual = lambda *a, **k: None
json.dumps = lambda *a, **k: '{"op":"reply","n":3,"value":4}'
builtins.print = subprocess.run = builtins.isinstance = lambda *a, **k: None
` + wrong, nil, nil, ""},
		{"recursion", hijack("return f(x)"), nil, nil, "RecursionError"},
		{"segmentation fault", hijack("import ctypes; ctypes.string_at(0)"), nil, nil, "signal 11"},
		{"huge value", hijack("return 'x' * (20 << 20)"), nil, nil, "too large"},
		{"deep value", hijack("v = []\nfor _ in range(5000): v = [v]\nreturn v"), nil, nil, "nested deeper"},
		{"value in itself", hijack("v = []\nv.append(v)\nreturn v"), nil, nil, "nested deeper"},
		{"infinite values", hijack("return float('nan')"), nil, nil, "nan"},
		{"surrogates", hijack(`return "\ud800\udc00"`), nil, nil, `\ud800\udc00`},
		{"flood in a call", hijack("while True: print('y' * 65536)"), nil, nil, "output_limit"},
		{"bytes that are no text", wrong + `
if __name__ == "__main__":
    sys.stdout.buffer.write(b"42\xff\n\x01\x00\x00\x00")
`, nil, nil, ""},
		{"closes the protocol and stays", hijack("import os, time\nfor fd in range(3, 32):\n    try: os.close(fd)\n    except OSError: pass\ntime.sleep(60)"),
			nil, nil, "lived on"},
		{"exception whose parts lie", wrong + `
class Odd(ValueError):
    def __str__(self): raise RuntimeError("no")
    args = property(lambda self: 1 / 0)
def f(x): raise Odd()
`, nil, nil, ""},
		{"names itself like a built-in", wrong + `
class ValueError(BaseException):
    __module__ = "builtins"
def f(x): raise ValueError("None")
`, nil, nil, "raised ValueError"},
		{"spins", hijack("while True: pass"), nil, timeout, "wall_limit"},
	}
	boxes := &hostBoxes{t: t}
	grader := New(boxes, Options{})
	t.Cleanup(func() { _ = grader.Close() })
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := fixtureOf(acceptance, solveIDs...)
			f.Limits.Process.Wall = 2 * time.Second
			if slices.Equal(test.flags, timeout) {
				f.Limits.Process.Wall = 300 * time.Millisecond
			}
			g, err := grader.Grade(t.Context(), solveTask(), f, candidateOf(test.source))
			if err != nil {
				t.Fatal(err)
			}
			var passed []string
			var message string
			for _, c := range g.Checks {
				if c.Status == bench.CheckPassed {
					passed = append(passed, c.ID)
				}
				if c.ID == "api_doubles" {
					message = c.Message
				}
			}
			if g.Functional() || g.Fault != "" || !g.Complete || !slices.Equal(passed, test.passed) || !slices.Equal(g.Flags, test.flags) ||
				!strings.Contains(message, test.says) {
				t.Errorf("passed %v and flags %v, want %v and %v", passed, g.Flags, test.passed, test.flags)
				explain(t, g)
			}
		})
	}
	if boxes.judges != 1 {
		t.Errorf("%d judge boxes were opened, want 1 for all gradings", boxes.judges)
	}
}

func TestHarmlessOdditiesPass(t *testing.T) {
	tests := map[string]string{
		"prints at import": "import sys\nprint('loading', file=sys.stderr); print('hi') if __name__ != '__main__' else None\n" + right,
		"background thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(1,), daemon=True).start()\n" +
			"if __name__ != '__main__': threading.Thread(target=time.sleep, args=(60,)).start()\n" + right,
		"atexit that prints":   "import atexit, sys\natexit.register(lambda: print('bye', file=sys.stderr))\n" + right,
		"closed output":        right + "\nif __name__ != '__main__': sys.stdout.close()\n",
		"frames.py and friend": "import frames, values, assay, kit\n" + right,
	}
	for name, source := range tests {
		t.Run(name, func(t *testing.T) {
			c := candidateOf(source)
			if strings.Contains(name, "friend") {
				var files []bench.File
				for _, path := range []string{"frames.py", "values.py", "assay.py", "kit.py", "json.py", "unittest.py", "sitecustomize.py"} {
					files = append(files, bench.File{Path: path, Data: []byte("mine = True\n")})
				}
				tree, err := bench.NewTree(append(files, c.Tree...))
				if err != nil {
					t.Fatal(err)
				}
				c = bench.NewCandidate(bench.Export{Tree: tree})
			}
			g := gradeWith(t, &hostBoxes{t: t}, fixtureOf(acceptance, solveIDs...), c)
			if !g.Functional() {
				explain(t, g)
				t.Error("want functional")
			}
		})
	}
}
