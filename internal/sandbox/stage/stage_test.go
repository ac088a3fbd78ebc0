package stage

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArguments(t *testing.T) {
	t.Parallel()
	want := Spec{UID: 7, CPU: 3, Processes: 70, Files: 256, FileBytes: 1 << 20, Memory: 1 << 30, Dir: "/w/a b", Env: []string{"A=1", "", "B=\xff"}, Argv: []string{"x", "", "-y"}}
	args := want.Args()
	if args[0] != Name {
		t.Fatalf("%q", args)
	}
	got, err := parse(args[1:])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, bad := range [][]string{nil, {"0", "1", "1", "1", "1", "1", "/w"}, {"0", "x", "1", "1", "1", "1", "/w", "0", "a"}, {"0", "1", "1", "1", "1", "1", "/w", "1", "A=1"}, {"0", "1", "1", "1", "1", "1", "/w", "-1", "a"}} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestLookPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		env  []string
		want string
	}{
		{"/bin/x", []string{"PATH=/a"}, "/bin/x"},
		{"./x", []string{"PATH=/a"}, "./x"},
		{"x", []string{"PATH=/a::/b", "PATH=/c"}, "/a/x ./x /b/x"},
		{"x", []string{"OTHER=1"}, ""},
	} {
		if got := strings.Join(lookPath(c.name, c.env), " "); got != c.want {
			t.Errorf("%s with %q: %q, want %q", c.name, c.env, got, c.want)
		}
	}
}

// Nothing but the standard library may be initialised before a stage, or it takes
// its time in every process of every box.
func TestImportsLittle(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := regexp.MustCompile(`\s+`).ReplaceAllString(strings.TrimSpace(string(out)), " "); got != "assay/internal/sandbox/stage" {
		t.Errorf("it depends on %s", got)
	}
}
