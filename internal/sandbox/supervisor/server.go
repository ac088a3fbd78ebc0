package supervisor

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"assay/internal/sandbox/frame"
)

// atOnce bounds requests and processes under way; the host stays far below.
const atOnce = 256

// Bounds of what counts against the limit on processes of a box beside the
// candidate's own.
const (
	processesAtOnce = 48 // that the host asked for; each starts even where the candidate has used up its limit
	stagesAtOnce    = 4  // threads of Go programs that are about to execute another
)

// server is one supervisor at work.
type server struct {
	who    identity
	hand   hand
	dirs   places
	self   string // path of the stage's program
	work   workspace
	reaper *reaper
	oom    oomCounter
	begin  frame.Begin
	slots  chan struct{}
	stages chan struct{}
	over   chan int // exit code; of one
	dying  sync.Once

	write sync.Mutex // of out
	out   io.Writer

	files sync.Mutex   // one file request at a time
	gate  sync.RWMutex // forks hold it for reading, sweeps for writing

	mu    sync.Mutex
	known map[uint32]*process // until the exit frame is sent
	live  map[*process]bool   // until collected
}

// serve speaks with the host until it goes away or breaks the protocol.
func serve(in io.Reader, out io.Writer, dirs places, who identity) (exitCode int) {
	sv := newServer(out, dirs, who)
	var err error
	if sv.self, err = stageProgram(); err == nil {
		sv.hand, err = newHand(who)
	}
	if err == nil {
		sv.work, err = handed(sv.hand, func() (workspace, error) { return openWorkspace(dirs.work) })
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "supervisor: %v\n", err)
		return exitSetup
	}
	sv.oom = findOOMCounter(dirs.oom)
	go sv.reaper.loop()
	go sv.listen(bufio.NewReaderSize(in, 64<<10))
	return <-sv.over
}

func newServer(out io.Writer, dirs places, who identity) *server {
	return &server{
		who: who, dirs: dirs, reaper: newReaper(), out: out, over: make(chan int, 1),
		slots: make(chan struct{}, atOnce), stages: make(chan struct{}, stagesAtOnce),
		known: map[uint32]*process{}, live: map[*process]bool{},
	}
}

// die ends the supervisor, and with it the box. The first cause counts, and is
// told before the end.
func (sv *server) die(code int, why string) {
	sv.dying.Do(func() {
		if why != "" {
			fmt.Fprintf(os.Stderr, "supervisor: %s\n", why)
		}
		sv.over <- code
	})
}

func (sv *server) listen(in io.Reader) {
	impatient := time.AfterFunc(firstFrame, func() { sv.die(exitProtocol, "the host did not speak") })
	sv.send(frame.TypeHello, 0, frame.Hello{Version: frame.Version, OOMCounter: sv.oom != ""}, nil)
	f, err := frame.Receive(in)
	impatient.Stop()
	if err == nil && f.Type != frame.TypeBegin {
		err = fmt.Errorf("%w: first frame is %s", frame.ErrProtocol, f.Type)
	}
	if err == nil {
		sv.begin, err = frame.Decode[frame.Begin](f)
	}
	if err == nil && sv.begin.DeadlineMS > 0 {
		d := time.Duration(sv.begin.DeadlineMS) * time.Millisecond
		time.AfterFunc(d, func() { sv.die(exitDeadline, fmt.Sprintf("deadline of the box reached: %s", d)) })
	}
	for err == nil {
		if f, err = frame.Receive(in); err == nil {
			err = sv.dispatch(f)
		}
	}
	if errors.Is(err, io.EOF) {
		sv.die(exitDone, "")
		return
	}
	sv.die(exitProtocol, err.Error())
}

// dispatch must not block: what takes time gets a goroutine of its own.
func (sv *server) dispatch(f frame.Frame) error {
	switch f.Type {
	case frame.TypeStdin, frame.TypeCredit, frame.TypeKill:
		return sv.stream(f)
	}
	select {
	case sv.slots <- struct{}{}:
	default:
		return fmt.Errorf("%w: more than %d requests at once", frame.ErrProtocol, atOnce)
	}
	work := func() error { return sv.request(f) }
	if f.Type == frame.TypeStart {
		p, err := sv.announce(f)
		if err != nil {
			return err
		}
		work = func() error {
			err := sv.start(p) // answered by the exit frame
			if err != nil {
				sv.forget(p)
			}
			return err
		}
	}
	go func() {
		defer func() { <-sv.slots }()
		if err := work(); err != nil {
			if errors.Is(err, frame.ErrProtocol) {
				sv.die(exitProtocol, err.Error())
				return
			}
			sv.send(frame.TypeFail, f.ID, toFail(err), nil)
		}
	}()
	return nil
}

// stream handles what belongs to a process. The process may have ended
// meanwhile, which is no fault of the host.
func (sv *server) stream(f frame.Frame) error {
	sv.mu.Lock()
	p := sv.known[f.ID]
	sv.mu.Unlock()
	if p == nil {
		return nil
	}
	switch f.Type {
	case frame.TypeKill:
		go p.end(reasonKilled, true)
	case frame.TypeCredit:
		c, err := frame.Decode[frame.Credit](f)
		if err != nil {
			return err
		}
		p.out.win.add(c.Stdout)
		p.err.win.add(c.Stderr)
	case frame.TypeStdin:
		h, err := frame.Decode[frame.Stdin](f)
		if err != nil {
			return err
		}
		if p.stdin == nil || !p.stdin.push(f.Payload, h.EOF) {
			return fmt.Errorf("%w: more stdin than process %d may get", frame.ErrProtocol, f.ID)
		}
	}
	return nil
}

// send writes a frame. A host that cannot be written to is gone.
func (sv *server) send(t frame.Type, id uint32, head any, payload []byte) {
	f, err := frame.New(t, id, head, payload)
	if err == nil {
		sv.write.Lock()
		err = frame.Send(sv.out, f)
		sv.write.Unlock()
	}
	if err != nil {
		sv.die(exitProtocol, err.Error())
	}
}

func (sv *server) add(p *process) {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	sv.known[p.id], sv.live[p] = p, true
}

// crowded says whether no more processes may be started.
func (sv *server) crowded() bool {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	return len(sv.live) >= processesAtOnce
}

func (sv *server) remove(p *process) {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	delete(sv.live, p)
}

func (sv *server) forget(p *process) {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	delete(sv.known, p.id)
}
