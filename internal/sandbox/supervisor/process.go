package supervisor

import (
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"assay/internal/sandbox/frame"
)

// The reasons of an exit, as package bench spells them.
const (
	reasonExited     = "exited"
	reasonSignalled  = "signalled"
	reasonWall       = "wall_limit"
	reasonCPU        = "cpu_limit"
	reasonOutput     = "output_limit"
	reasonMemory     = "memory_limit"
	reasonKilled     = "killed"
	reasonNotStarted = "not_started"
)

// process is one process that the host asked for, with what it forks.
type process struct {
	sv          *server
	id          uint32
	h           frame.Start
	outputBytes int64
	cpuLimit    time.Duration
	begun       time.Time
	stdin       *input // nil: none
	out, err    *output
	report      *os.File      // of the stage
	oomBefore   *int64        // kills for memory before it; nil: not known
	unwanted    chan struct{} // closed with the first reason to end it

	mu     sync.Mutex
	pid    int    // 0: not forked yet
	reason string // why we ended it; empty: we did not
}

// await sees the process to its end and tells the host.
func (p *process) await(ended <-chan ending, wall time.Duration) {
	if wall > 0 {
		timer := time.AfterFunc(wall, func() { p.end(reasonWall, false) })
		defer timer.Stop()
	}
	message := p.reported()
	<-p.sv.stages
	e := <-ended
	took, kills := time.Since(p.begun), p.sv.oom.since(p.oomBefore)
	p.sv.remove(p)
	if p.h.Sweep {
		p.sv.sweepUp()
	}
	if p.stdin != nil {
		p.stdin.close()
		<-p.stdin.done
	}
	p.out.finish()
	p.err.finish()
	x := p.exit(e, message, kills)
	x.WallUS = took.Microseconds()
	x.StdoutBytes, x.StderrBytes = p.out.total.Load(), p.err.total.Load()
	p.sv.send(frame.TypeExit, p.id, x, nil)
	p.sv.forget(p)
}

// end kills the process and everything that can be told to belong to it. The
// first reason stays. discard: nobody wants its output any more.
func (p *process) end(reason string, discard bool) {
	p.mu.Lock()
	if p.reason == "" {
		p.reason = reason
		close(p.unwanted)
	}
	p.mu.Unlock()
	if discard {
		p.out.win.close()
		p.err.win.close()
	}
	p.sv.killFamily(p)
}

// reported reads what the stage has to say: nothing when the program runs.
func (p *process) reported() string {
	defer p.report.Close()
	b, _ := io.ReadAll(io.LimitReader(p.report, 8<<10))
	return string(b)
}

// exit classifies the end of a process.
func (p *process) exit(e ending, message string, oomKills *int64) frame.Exit {
	x := frame.Exit{
		Reason: reasonExited, Code: e.status.ExitStatus(), CPUUS: e.cpu.Microseconds(), OOMKills: oomKills,
	}
	if e.status.Signaled() {
		x.Reason, x.Code, x.Signal = reasonSignalled, -1, int(e.status.Signal())
	}
	p.mu.Lock()
	reason := p.reason
	p.mu.Unlock()
	// The kernel's clock of the limit and the one of the accounts differ by some
	// ticks, so the signal is believed a little early.
	overCPU := p.cpuLimit > 0 && (x.Signal == int(syscall.SIGXCPU) && e.cpu >= p.cpuLimit*3/4 || x.Signal == int(syscall.SIGKILL) && e.cpu >= p.cpuLimit)
	switch {
	case message != "":
		x.Reason, x.Code, x.Message = reasonNotStarted, -1, message
	case reason == reasonOutput, reason != "" && e.status.Signaled():
		x.Reason, x.Code = reason, -1
	case x.Signal == int(syscall.SIGKILL) && oomKills != nil && *oomKills > 0:
		x.Reason = reasonMemory
	case overCPU:
		x.Reason = reasonCPU
	}
	return x
}
