package bwrap

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"assay/internal/sandbox"
	"assay/internal/sandbox/link"

	"golang.org/x/sys/unix"
)

// Uids that boxes get when root opens them: in the range that Debian leaves to
// the local administrator, each box its own as far as they go.
const (
	firstUID = 59000
	uids     = 1000
)

// closeTime is how long a box may take to end after its stream was closed.
const closeTime = time.Second

// conn is the stream to one box and the bwrap process that holds it.
type conn struct {
	in     *os.File // to the supervisor
	out    *os.File // from it
	said   *link.Tail
	cmd    *exec.Cmd
	info   *os.File      // what bwrap says of the process that it made
	ended  chan struct{} // closed when bwrap was collected
	finish func() error
}

// launch starts bwrap.
func (f *Factory) launch(o sandbox.Options) (*conn, error) {
	var files []*os.File // theirs, closed here in any case
	defer func() {
		for _, file := range files {
			_ = file.Close()
		}
	}()
	var ours []*os.File
	var err error
	add := func(weWrite bool) *os.File {
		if err != nil {
			return nil
		}
		var r, w *os.File
		if r, w, err = os.Pipe(); err != nil {
			return nil
		}
		if !weWrite {
			r, w = w, r
		}
		files, ours = append(files, r), append(ours, w)
		return w
	}
	stdin, stdout, stderr, filter := add(true), add(false), add(false), add(true)
	if err == nil {
		_, err = filter.Write(f.filter) // far below the size of a pipe
	}
	var info *os.File
	if err == nil {
		info, err = infoFile()
	}
	if err != nil {
		closeAll(ours)
		return nil, fmt.Errorf("make the streams of a box: %w", err)
	}
	cmd := exec.Command(f.bwrap, args(f.root.Path, o)...)
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[1], files[2]
	cmd.ExtraFiles = []*os.File{f.program, files[3], info}
	if f.asRoot {
		id := uint32(firstUID + (uint32(os.Getpid())+f.opened.Add(1))%uids)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
	}
	if err := cmd.Start(); err != nil {
		closeAll(append(ours, info))
		return nil, unstarted(err)
	}
	_ = filter.Close()
	c := &conn{in: stdin, out: stdout, said: &link.Tail{}, cmd: cmd, info: info, ended: make(chan struct{})}
	c.finish = sync.OnceValue(c.shut)
	go c.watch(stderr)
	return c, nil
}

// infoFile is where bwrap writes down the process that it made, before it lets
// that process go on. It is a file in memory and no pipe: if we were killed, a
// pipe would kill bwrap at that moment, and what it made would wait for ever.
func infoFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("assay-box-info", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), "box info"), nil
}

// child is the pid of the supervisor as we see it, or 0.
func (c *conn) child() int {
	var i struct {
		Child int `json:"child-pid"`
	}
	if err := json.NewDecoder(io.NewSectionReader(c.info, 0, 4<<10)).Decode(&i); err != nil || i.Child <= 1 {
		return 0
	}
	return i.Child
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// watch collects bwrap and what it says.
func (c *conn) watch(stderr *os.File) {
	defer close(c.ended)
	_, _ = io.Copy(c.said, stderr)
	_ = stderr.Close()
	_ = c.cmd.Wait() // why it ended stands in what it said
}

func (c *conn) Read(b []byte) (int, error) { return c.out.Read(b) }

// Write gives up on a supervisor that reads nothing for long.
func (c *conn) Write(b []byte) (int, error) {
	if err := c.in.SetWriteDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return 0, err
	}
	return c.in.Write(b)
}

// Diagnosis is what bwrap and the supervisor said.
func (c *conn) Diagnosis() string { return c.said.String() }

// Cause knows no more than what was said.
func (c *conn) Cause() error { return nil }

// Close ends the box: the supervisor ends with its stdin, the rest with it.
func (c *conn) Close() error { return c.finish() }

func (c *conn) shut() error {
	_ = c.in.Close()
	defer c.out.Close()
	defer c.info.Close()
	if c.wait() {
		return nil
	}
	if pid := c.child(); pid != 0 {
		// bwrap, which collects it, still runs: the number is still its own.
		_ = syscall.Kill(pid, syscall.SIGKILL)
		if c.wait() {
			return nil
		}
	}
	_ = c.cmd.Process.Kill()
	if c.wait() {
		return nil
	}
	return fmt.Errorf("box of process %d did not end", c.cmd.Process.Pid)
}

func (c *conn) wait() bool {
	timer := time.NewTimer(closeTime)
	defer timer.Stop()
	select {
	case <-c.ended:
		return true
	case <-timer.C:
		return false
	}
}
