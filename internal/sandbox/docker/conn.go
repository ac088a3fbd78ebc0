package docker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"assay/internal/sandbox/link"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// Bounds of the calls that hold a container.
const (
	attachTime = 15 * time.Second
	startTime  = 60 * time.Second
	endTime    = 3 * time.Second  // from the end of its stdin to the end of a container
	removeTime = 20 * time.Second // by force
	writeTime  = 10 * time.Second // for a piece of a frame
)

const writePiece = 64 << 10

// conn is the attach stream of a container, and the container's end.
type conn struct {
	cli    *client.Client
	id     string
	said   *link.Tail
	stop   context.CancelFunc // of the wait for its end
	gone   chan struct{}      // closed when the engine says that it is removed, or says nothing more
	finish func() error

	stream  *client.HijackedResponse // nil: not attached
	out     *demux
	started bool

	mu     sync.Mutex
	code   int64 // of the supervisor; valid when ended
	ended  bool
	lost   error // why the engine says nothing more
	forced bool  // we removed it by force
}

// hold waits for the end of a container that is not started yet; nothing may
// come between its end and the question. It returns when the engine has taken the
// question, or ctx has ended.
func hold(ctx context.Context, cli *client.Client, id string, freed func()) *conn {
	waiting, cancel := context.WithCancel(context.Background())
	c := &conn{cli: cli, id: id, said: &link.Tail{}, stop: cancel, gone: make(chan struct{})}
	c.finish = sync.OnceValue(func() error {
		defer freed()
		return c.shut()
	})
	ctx, done := context.WithTimeout(ctx, attachTime)
	defer done()
	given := context.AfterFunc(ctx, cancel)
	w := cli.ContainerWait(waiting, id, client.ContainerWaitOptions{Condition: container.WaitConditionRemoved})
	given()
	go c.watch(w)
	return c
}

func (c *conn) watch(w client.ContainerWaitResult) {
	defer close(c.gone)
	// Somebody must always receive: the client's own goroutine would hang.
	select {
	case r := <-w.Result:
		c.mu.Lock()
		defer c.mu.Unlock()
		if r.Error != nil { // it ended, and the engine could not remove it
			c.lost = errors.New(r.Error.Message)
			return
		}
		c.code, c.ended = r.StatusCode, true
	case err := <-w.Error:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lost = err
	}
}

// attach opens the stream. It must come before the start: what the supervisor
// says first would be lost.
func (c *conn) attach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attachTime)
	defer cancel()
	a, err := c.cli.ContainerAttach(ctx, c.id, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return wrap(opAttach, err)
	}
	c.stream, c.out = &a.HijackedResponse, &demux{r: bufio.NewReaderSize(a.Reader, 64<<10), said: c.said}
	return nil
}

func (c *conn) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	c.started = true // it may be, whatever the answer
	_, err := c.cli.ContainerStart(ctx, c.id, client.ContainerStartOptions{})
	return wrap(opStart, err)
}

func (c *conn) Read(b []byte) (int, error) { return c.out.Read(b) }

// Write gives up on a supervisor that takes nothing for long; a slow way to a far
// engine is no reason to.
func (c *conn) Write(b []byte) (int, error) {
	written := 0
	for written < len(b) {
		if err := c.stream.Conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
			return written, err
		}
		n, err := c.stream.Conn.Write(b[written:min(written+writePiece, len(b))])
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// Diagnosis is what the supervisor said.
func (c *conn) Diagnosis() string { return c.said.String() }

// Cause is what the engine knows of an end that was none of ours, or nil.
func (c *conn) Cause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.forced: // what came of it is our own doing
	case c.lost != nil && !errors.Is(c.lost, context.Canceled) && !errdefs.IsNotFound(c.lost):
		return wrap(opWait, c.lost)
	case c.ended && c.code == killedCode:
		return &Error{Op: opWait, Fault: FaultContainer, Err: fmt.Errorf("container %.12s was killed or removed from outside, or the machine ran out of memory (exit code %d)", c.id, c.code)}
	}
	return nil
}

// killedCode is how a killed PID 1 ends. It is no proof of an out of memory.
const killedCode = 137

// Close ends the box: the supervisor ends with its stdin, the rest with it.
func (c *conn) Close() error { return c.finish() }

func (c *conn) shut() error {
	defer c.stop()
	if c.stream != nil {
		defer c.stream.Close()
	}
	if c.started {
		// Half of it only: the supervisor's last words may still be under way.
		_ = c.stream.CloseWrite()
		if c.wait(endTime) {
			return nil
		}
	}
	c.mu.Lock()
	c.forced = true
	c.mu.Unlock()
	// The engine answers when it is removed, or is being removed.
	return remove(context.Background(), c.cli, c.id)
}

func (c *conn) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.gone:
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.ended || errdefs.IsNotFound(c.lost)
	case <-timer.C:
		return false
	}
}

// remove removes a container by force. One that is gone, or being removed, is
// removed.
func remove(ctx context.Context, cli *client.Client, id string) error {
	ctx, cancel := context.WithTimeout(ctx, removeTime)
	defer cancel()
	_, err := cli.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if errdefs.IsNotFound(err) || errdefs.IsConflict(err) && strings.Contains(err.Error(), "already in progress") {
		return nil
	}
	return wrap(opRemove, err)
}
