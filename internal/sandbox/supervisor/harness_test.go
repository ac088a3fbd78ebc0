package supervisor_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"
	"assay/internal/sandbox/link"
	"assay/internal/sandbox/supervisor"
)

// The tests here run the supervisor as root and PID 1 of fresh namespaces, with
// the capabilities that an engine leaves it and a candidate of another uid: what
// a container is to it, without an engine.

const insideArg = "__inside"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == supervisor.Arg {
		os.Exit(supervisor.Main(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == insideArg {
		fmt.Fprintf(os.Stderr, "make a box for a test: %v\n", inside(os.Args[2], os.Args[3], os.Args[4]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// spec is a box of a test.
type spec struct {
	sandbox.Options
	memory int64 // bytes of the memory cgroup; 0: in no cgroup of its own, and no counter
	pids   int   // of the pids cgroup
}

// box is an open box of a test.
type box struct {
	*link.Box
	conn *conn
}

var opened atomic.Int64

// open starts a box that ends with the test.
func open(t testing.TB, s spec) box {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIP: a supervisor with another uid than its candidate's is tested by root only; run the tests as root")
	}
	o, err := s.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	n := int(opened.Add(1))
	uid := 58_000 + (os.Getpid()*16+n)%900
	groups := cgroups(t, s, fmt.Sprintf("assay-test-%d-%d", os.Getpid(), n))
	counter := ""
	if s.memory > 0 {
		counter = groups[0]
	}
	c, err := start(t.TempDir(), uid, counter, groups)
	if err != nil {
		t.Fatal(err)
	}
	b, err := link.Open(t.Context(), c, o, bench.Environment{Kind: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return box{b, c}
}

// cgroups makes the cgroups of a box and gives their folders.
func cgroups(t testing.TB, s spec, name string) []string {
	t.Helper()
	var dirs []string
	for _, g := range []struct {
		controller, file string
		limit            int64
	}{
		{"memory", "memory.limit_in_bytes", s.memory},
		{"pids", "pids.max", int64(s.pids)},
	} {
		if g.limit == 0 {
			continue
		}
		dir := filepath.Join("/sys/fs/cgroup", g.controller, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Skipf("SKIP: no %s cgroup can be made: %v; run this where cgroup v1 is mounted and writable", g.controller, err)
		}
		t.Cleanup(func() { removeGroup(t, dir) })
		if err := os.WriteFile(filepath.Join(dir, g.file), []byte(strconv.FormatInt(g.limit, 10)), 0); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// removeGroup waits for the last process to leave.
func removeGroup(t testing.TB, dir string) {
	var err error
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if err = syscall.Rmdir(dir); err == nil {
			return
		}
	}
	t.Errorf("remove cgroup %s: %v", dir, err)
}

// conn is the stream to a supervisor.
type conn struct {
	in, out *os.File
	said    link.Tail
	cmd     *exec.Cmd
	close   func() error
	ended   chan struct{}
}

func start(dir string, uid int, counter string, groups []string) (*conn, error) {
	c := &conn{ended: make(chan struct{})}
	var theirs [3]*os.File
	var goOn *os.File
	var err error
	for i, ours := range []**os.File{&c.in, &c.out, &goOn} {
		r, w, perr := os.Pipe()
		if perr != nil {
			return nil, perr
		}
		if i == 1 {
			r, w = w, r
		}
		theirs[i], *ours = r, w
		defer r.Close()
	}
	c.cmd = exec.Command("/proc/self/exe", insideArg, dir, strconv.Itoa(uid), counter)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr, c.cmd.ExtraFiles = theirs[0], theirs[1], &c.said, theirs[2:]
	c.cmd.Env = []string{}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS}
	c.close = sync.OnceValue(func() error {
		_ = c.in.Close()
		defer c.out.Close()
		select {
		case <-c.ended:
		case <-time.After(5 * time.Second):
			_ = c.cmd.Process.Kill()
			<-c.ended
			return fmt.Errorf("the box did not end with its stream")
		}
		return nil
	})
	if err = c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait()
	}()
	for _, g := range groups {
		if err := os.WriteFile(filepath.Join(g, "cgroup.procs"), []byte(strconv.Itoa(c.cmd.Process.Pid)), 0); err != nil {
			_ = goOn.Close()
			_ = c.close()
			return nil, err
		}
	}
	return c, goOn.Close()
}

func (c *conn) Read(b []byte) (int, error)  { return c.out.Read(b) }
func (c *conn) Write(b []byte) (int, error) { return c.in.Write(b) }
func (c *conn) Close() error                { return c.close() }
func (c *conn) Diagnosis() string           { return c.said.String() }
func (c *conn) Cause() error                { return nil }
