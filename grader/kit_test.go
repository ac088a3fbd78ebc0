package grader

import (
	"strings"
	"testing"
	"time"

	"assay/internal/bench"
)

// gradeKit grades the right candidate, with echo added, by acceptance tests of the
// given body in a class with module "solve".
func gradeKit(t *testing.T, body string, ids ...string) bench.Grading {
	t.Helper()
	source := "import datetime, decimal\nfrom assay import kit\nclass T(kit.Case):\n    module = 'solve'\n" + indent(body)
	f := fixtureOf(source, ids...)
	f.Limits.Process.Wall = 2 * time.Second
	g := New(&hostBoxes{t: t}, Options{})
	t.Cleanup(func() { _ = g.Close() })
	task := solveTask()
	candidate := candidateOf(right + "\ndef same(x, *more): return (x,) + more if more else x\n" + `
class Ctx:
    def __enter__(self): return "in"
    def __exit__(self, *a): self.left = a
    def __getitem__(self, k): return {"a": 1}[k]
    def __contains__(self, k): return k == "a"
    def __str__(self): return "a Ctx"
class Base(Exception): pass
class Both(Base, KeyError, ValueError):
    def __init__(self, line): super().__init__("at", line); self.line = line
def both(n): raise Both(n)
def leave(): import os; os._exit(0)
def missing(): open("nowhere.txt")
def group(): raise ExceptionGroup("two", [ValueError(1), KeyError(2)])
def decode(): b"\xff".decode()
`)
	task.Reference = candidate.Tree
	out, err := g.Grade(t.Context(), task, f, candidate)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestValuesCross(t *testing.T) {
	g := gradeKit(t, `
def test_values(self):
    td = datetime.timedelta
    for x in [None, True, False, 0, -1, 2**53 - 1, 2**53, -2**53, 10**5000, 0.0, -0.0, 1.0, 0.1, 1e308, float("inf"), "", "ä\n\x00",
              "\ud800", "\ud800\udc00", "<&>", b"", b"\x00\xff", bytearray(b"x"), [], (), [1, (2, [3.0])], {}, {"a": 1, 2: None, (1, 2): [b""]},
              set(), {1, "a"}, frozenset([1]), decimal.Decimal("1.10"), decimal.Decimal("NaN"), datetime.date(2024, 2, 29),
              datetime.datetime(2024, 1, 2, 3, 4, 5, 6, fold=1), datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone(td(hours=-5))),
              datetime.time(1, 2, 3, 4), td(-1, 2, 3)]:
        y = self.m.same(x)
        assert type(y) is type(x), (x, y)
        text = hex if type(x) is int else ascii
        assert text(y) == text(x), (text(x)[:50], text(y)[:50])
    assert str(self.m.same(float("nan"))) == "nan"

def test_both_kinds_of_step(self):
    self.assertEqual(self.m.f(1), 2)
    self.assertEqual(self.box.run("solve.py", stdin="4").out, "8\n")
    self.assertEqual(self.m.f(3), 6)
def test_keywords(self):
    self.assertEqual(self.m.same(x=1), 1)
    self.assertEqual(self.m.same(1, [2], "c"), (1, [2], "c"))
def test_objects(self):
    c = self.m.Ctx()
    with c as inside: self.assertEqual(inside, "in")
    self.assertEqual(c["a"], 1)
    with self.assertRaises(KeyError): c["b"]
    self.assertTrue("a" in c)
    self.assertFalse("b" in c)
    self.assertEqual(str(c), "a Ctx")
    self.assertEqual(c.left, (None, None, None))
    with self.assertRaises(AttributeError): c.nothing
    self.assertEqual(str(self.m.same(c)), "a Ctx")
def test_exceptions(self):
    for t in (self.m.Both, self.m.Base, KeyError, ValueError, Exception):
        with self.assertRaises(t) as e: self.m.both(7)
    self.assertEqual(e.exception.args, ("at", 7))
    self.assertEqual(e.exception.line, 7)
    with self.assertRaises(FileNotFoundError) as e: self.m.missing()
    self.assertEqual(e.exception.errno, 2)
    self.assertIn("nowhere.txt", str(e.exception))
    with self.assertRaises(Exception) as e: self.m.group()
    self.assertIn("two", str(e.exception))
    with self.assertRaises(UnicodeDecodeError) as e: self.m.decode()
    self.assertIn("0xff", str(e.exception))
`, "values", "both_kinds_of_step", "keywords", "objects", "exceptions")
	if !g.Functional() {
		explain(t, g)
		t.Error("want functional")
	}
}

func TestFiles(t *testing.T) {
	g := gradeKit(t, `
def test_files(self):
    b = self.box
    b.write("d/a.txt", "ä"); b.write("b", b"\xff"); b.mkdir("empty"); b.symlink("l", "d/a.txt"); b.read_error("bad")
    self.assertEqual(b.read("d/a.txt"), "ä".encode())
    self.assertEqual(b.read("l"), "ä".encode())
    self.assertEqual([b.exists(x) for x in ("d/a.txt", "empty", "l", "no", "d/no", "b/x")], [True] * 3 + [False] * 3)
    with self.assertRaises(FileNotFoundError): b.read("no")
    with self.assertRaises(IsADirectoryError): b.read("empty")
    r = b.run("/bin/sh", "-c", "cat bad; echo $X >&2; pwd", env={"X": "1 2"}, cwd="empty")
    self.assertIn("cat: bad: ", r.err)
    self.assertIn("1 2", r.err)
    self.assertExit(r, 0)
def test_fresh(self):
    self.assertEqual(self.box.exists("d"), False)
def test_ends(self):
    r = self.box.run("/bin/sh", "-c", "kill -9 $$")
    self.assertEqual((r.code, r.signal, r.limit), (-1, 9, None))
    r = self.box.run("/bin/sh", "-c", "while :; do :; done", wall=0.2)
    self.assertEqual((r.code, r.limit), (-1, "wall_limit"))
    r = self.box.run("/bin/sh", "-c", "yes")
    self.assertEqual((r.code, r.limit), (-1, "output_limit"))
`, "files", "fresh", "ends")
	if !g.Functional() {
		explain(t, g)
		t.Error("want functional")
	}
}

// A check that must not pass although its body tries to.
func TestChecksThatMustNotPass(t *testing.T) {
	tests := map[string]struct{ body, says string }{
		"true for one":               {"self.assertEqual(self.m.same(True), 1)", "expected: 1 (int)\ngot: True (bool)"},
		"one in a list":              {"self.assertEqual(self.m.same([1]), [True])", "expected: [True]"},
		"float in a dict":            {"self.assertEqual(self.m.same({'a': 1.0}), {'a': 1})", "expected: {'a': 1}"},
		"true as a key":              {"self.assertEqual(self.m.same({True: 0}), {1: 0})", "expected: {1: 0}"},
		"one in a set":               {"self.assertEqual(self.m.same({1}), {1.0})", "expected: {1.0}"},
		"tuple for list":             {"self.assertEqual(self.m.same((1,)), [1])", "(tuple)"},
		"not equal":                  {"self.assertNotEqual(self.m.same(2), 2)", "anything but 2"},
		"skips":                      {"self.skipTest('later')", "skipped"},
		"sub-test":                   {"with self.subTest(i=1): self.assertEqual(1, 2)", "expected: 2 (int)"},
		"swallowed loss":             {"try: self.m.nothing\nexcept BaseException: pass", "has no 'nothing'"},
		"loss as exception":          {"with self.assertRaises(Exception): self.m.nothing", "has no 'nothing'"},
		"compares objects":           {"with self.assertRaises(Exception): self.m.Ctx() == 1", "class Ctx"},
		"truth of objects":           {"self.assertTrue(self.m.Ctx())", "truth value"},
		"goes on after a loss":       {"for i in '12':\n    with self.subTest(i=i): self.m.leave()\nself.m.f(1)", "(i='2')\nthe candidate's process ended before it answered: exit code 0"},
		"goes on without its module": {"type(self).module = 'absent'\nfor i in '12':\n    with self.subTest(i=i): self.m.f(1)\nself.box.run('solve.py')", "importing absent raised"},
		"candidate's error":          {"self.m.both(1)", "the candidate raised Both: "},
		"step of a sub-test": {"for i in '12':\n    with self.subTest(i=i): self.assertExit(self.box.run('/bin/sh', '-c', 'exit ' + i), int(i) - int(i == '1'))",
			"(i='1')\nexpected: exit code 0\ngot: exit code 1\nat acceptance.py line 7: with self.subTest(i=i): self.assertExit(self.box.run('/bin/sh', '-c', 'exit ' + i), int(i) - int(i == '1'))\n" +
				"step: /bin/sh -c 'exit 1'"},
		"error in the test": {"[][0]", "stopped with IndexError"},
		"exit code":         {"self.assertExit(self.box.run('/bin/sh', '-c', 'echo out; echo err >&2; exit 3'), 0)", "got: exit code 3\nat acceptance.py line 6"},
		"streams are shown": {"self.assertExit(self.box.run('/bin/sh', '-c', 'printf \"a\\\\033[2J\"; echo err >&2; exit 3'), 0)",
			"ended: exit code 3\nstderr:\n  | err\nstdout:\n  | a\\x1b[2J"},
		"limit is shown": {"self.assertExit(self.box.run('/bin/sh', '-c', 'yes'), 0)", "output_limit fired (1048576 bytes on one stream)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := gradeKit(t, "def test_a(self):\n"+indent(test.body), "a")
			if g.Fault != "" || g.Functional() || g.Checks[0].Status != bench.CheckFailed || !strings.Contains(g.Checks[0].Message, test.says) {
				explain(t, g)
				t.Errorf("want a failed check that says %q", test.says)
			}
		})
	}
}

// What the author of a fixture did wrong is a fault of ours, and says what.
func TestFixtureMistakes(t *testing.T) {
	tests := map[string]struct{ body, says string }{
		"unknown attribute":  {"def test_a(self): self.box.foo('x')", "self.box has no 'foo'; it has write, mkdir"},
		"wrong argument":     {"def test_a(self): self.box.run('solve.py', 3)", "argument must be str, got int"},
		"swallowed":          {"def test_a(self):\n    try: self.box.write('/x', '')\n    except BaseException: pass", "must be relative and clean"},
		"data":               {"def test_a(self): self.box.write('x', 3)", "data must be str or bytes, got int"},
		"mode":               {"def test_a(self): self.box.write('x', '', mode='r')", "mode must be an int"},
		"result":             {"def test_a(self): self.assertExit(0, 0)", "needs the result of self.box.run"},
		"module":             {"module = 3\ndef test_a(self): self.m.f(1)", "module must name"},
		"unsendable":         {"def test_a(self): self.m.f(object())", "cannot be sent to the candidate"},
		"missing check":      {"def test_b(self): pass", "lacks the checks ['a'] and has the unlisted ones ['b']"},
		"raises when loaded": {"raise RuntimeError('boom')", "RuntimeError: boom"},
		"leaves":             {"def test_a(self):\n    import os; print('bye', flush=True); os._exit(0)", "the judge printed: bye"},
		"no syntax":          {"def", "SyntaxError"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := gradeKit(t, test.body, "a")
			if !strings.Contains(g.Fault, test.says) || g.Complete || g.Functional() {
				explain(t, g)
				t.Errorf("want a fault that says %q", test.says)
			}
		})
	}
}
