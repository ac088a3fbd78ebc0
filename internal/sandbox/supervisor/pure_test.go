package supervisor

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	got, ok := parseStat(7, []byte("7 (a) S 1 2) R 3 7 5 0 -1 rest"))
	if want := (proc{pid: 7, parent: 3, session: 5}); !ok || got != want {
		t.Errorf("%+v %v", got, ok)
	}
	if got, ok := parseStat(7, []byte("7 (x) Z 1 7 7 0")); !ok || !got.zombie {
		t.Errorf("%+v %v", got, ok)
	}
	for _, bad := range []string{"", "7", "7 (x", "7 (x) R", "7 (x) R a b c"} {
		if p, ok := parseStat(7, []byte(bad)); ok {
			t.Errorf("%q reads as %+v", bad, p)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("7 (a) S 1 2) R 3 7 5 0 -1 rest"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, ok := parseStat(7, b); ok && p.pid != 7 {
			t.Errorf("%+v", p)
		}
	})
}

func TestFamily(t *testing.T) {
	t.Parallel()
	table := []proc{
		{pid: 12, parent: 11, session: 12}, // grandchild in a session of its own
		{pid: 11, parent: 10, session: 10},
		{pid: 10, parent: 1, session: 10},
		{pid: 13, parent: 1, session: 10}, // orphan that stayed in the session
		{pid: 14, parent: 1, session: 14}, // a daemon of nobody
		{pid: 20, parent: 1, session: 20},
	}
	got := family(table, map[int]bool{10: true})
	if diff := cmp.Diff(map[int]bool{10: true, 11: true, 12: true, 13: true}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestProcessTable(t *testing.T) {
	t.Parallel()
	table, err := processTable()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range table {
		if p.pid == os.Getpid() && p.parent == os.Getppid() {
			return
		}
	}
	t.Error("this process is not in the table")
}

func TestIPCIDs(t *testing.T) {
	t.Parallel()
	got := ipcIDs([]byte("  key  shmid perms\n  7  3  1666\n  0 65538 600\nshort\n"))
	if diff := cmp.Diff([]uintptr{3, 65538}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestCheckPath(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "a/b", "..a", "a..", ".a/…"} {
		if err := checkPath(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", ".", "..", "/", "/a", "a/", "a//b", "./a", "../a", "a/..", "a/../b", "a\x00b"} {
		if checkPath(bad) == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestEscape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"a/b é": "a/b é", "a\n": `"a\n"`, "\xff": `"\xff"`, "\u202e": `"\u202e"`} {
		if got := escape(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	if got := escape(strings.Repeat("é", 500)); len(got) > 210 {
		t.Errorf("%d bytes", len(got))
	}
}
