package supervisor

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestIdentityArguments(t *testing.T) {
	t.Parallel()
	for _, uid := range []int{0, 1, 58001, 1<<31 - 1} {
		args := Args(uid)
		got, err := parseIdentity(args[1:])
		if args[0] != Arg || err != nil || got.uid != uid || got.other() != (uid != 0) {
			t.Errorf("%d: %q reads as %+v, %v", uid, args, got, err)
		}
	}
	for _, bad := range [][]string{{""}, {"uid"}, {"58001"}, {"uid", ""}, {"uid", "0"}, {"uid", "-1"}, {"uid", "+1"}, {"uid", "01"}, {"uid", "1 "}, {"uid", "2147483648"}, {"UID", "1"}, {"uid", "1", "1"}} {
		if got, err := parseIdentity(bad); err == nil {
			t.Errorf("%q reads as %+v", bad, got)
		}
		if code := Main(bad); code != exitSetup {
			t.Errorf("%q: exit code %d", bad, code)
		}
	}
	// A sweep outside of a box would kill all that this user has.
	for _, args := range [][]string{nil, {"uid", "58001"}} {
		if code := Main(args); code != exitSetup {
			t.Errorf("process %d became a supervisor: exit code %d", os.Getpid(), code)
		}
	}
}

func TestOOMCounter(t *testing.T) {
	t.Parallel()
	n := func(v int64) *int64 { return &v }
	for text, want := range map[string]*int64{
		"oom_kill_disable 0\nunder_oom 0\noom_kill 3\n":                n(3),
		"low 0\nhigh 0\nmax 12\noom 2\noom_kill 1\noom_group_kill 0\n": n(1),
		"oom_kill 0":                            n(0),
		"":                                      nil,
		"oom_kill_disable 0\nunder_oom 0\n":     nil,
		"oom_kill\noom_kill -1\noom_kill x\n":   nil,
		"oom_kill 99999999999999999999999999\n": nil,
	} {
		if diff := cmp.Diff(want, parseOOMKills([]byte(text))); diff != "" {
			t.Errorf("%q (-want +got)\n%s", text, diff)
		}
	}
	path := filepath.Join(t.TempDir(), "events")
	count := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	count("nothing known")
	if c := findOOMCounter([]string{path}); c != "" || c.since(c.read()) != nil {
		t.Errorf("%q is a counter", c)
	}
	count("oom_kill 2\n")
	c := findOOMCounter([]string{path + "-absent", path})
	before := c.read()
	if diff := cmp.Diff(n(0), c.since(before)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	count("oom_kill 5\n")
	if diff := cmp.Diff(n(3), c.since(before)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := c.since(nil); got != nil {
		t.Errorf("%d kills since an unknown count", *got)
	}
	count("oom_kill 1\n")
	if got := c.since(before); got != nil {
		t.Errorf("%d kills by a count that fell", *got)
	}
}

func TestExitReasons(t *testing.T) {
	t.Parallel()
	const killed, cpuSignal = syscall.WaitStatus(9), syscall.WaitStatus(24)
	one, none := int64(1), int64(0)
	for name, c := range map[string]struct {
		status syscall.WaitStatus
		cpu    time.Duration
		ours   string
		kills  *int64
		want   string
	}{
		"exit":                             {status: 0, kills: &none, want: reasonExited},
		"a child died of memory":           {status: 1 << 8, kills: &one, want: reasonExited},
		"exit code of a killed child":      {status: 137 << 8, kills: &none, want: reasonExited},
		"died of memory":                   {status: killed, kills: &one, want: reasonMemory},
		"with children that used CPU":      {status: killed, cpu: time.Minute, kills: &one, want: reasonMemory},
		"killed by itself":                 {status: killed, kills: &none, want: reasonSignalled},
		"killed, cause not known":          {status: killed, want: reasonSignalled},
		"killed by us":                     {status: killed, ours: reasonWall, kills: &one, want: reasonWall},
		"over CPU":                         {status: cpuSignal, cpu: 2 * time.Second, kills: &one, want: reasonCPU},
		"over CPU, its signal caught":      {status: killed, cpu: 3 * time.Second, kills: &none, want: reasonCPU},
		"aborted while a child was eating": {status: 6, kills: &one, want: reasonSignalled},
	} {
		p := &process{cpuLimit: 2 * time.Second, reason: c.ours}
		x := p.exit(ending{c.status, c.cpu}, "", c.kills)
		if x.Reason != c.want || x.OOMKills != c.kills {
			t.Errorf("%s: %+v, want %s", name, x, c.want)
		}
	}
}
