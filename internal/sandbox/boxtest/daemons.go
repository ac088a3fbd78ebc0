package boxtest

import (
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"
)

// daemon leaves a process behind that holds stdout and stderr open.
const daemon = `
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    for sig in 1, 2, 15: signal.signal(sig, signal.SIG_IGN)
    if os.fork() == 0:
        os.setsid()
        while True: time.sleep(1)
    os._exit(0)
os.wait()
print("parent", flush=True)
if len(sys.argv) > 1: time.sleep(1000)`

// listen serves one word on a port of the loopback.
const listen = `
import os, socket
l = socket.socket(); l.bind(("127.0.0.1", 7777)); l.listen()
print("ready", flush=True)
while True:
    c, _ = l.accept(); c.sendall(b"served"); c.close()`

const ask = `
import socket
try: print(socket.create_connection(("127.0.0.1", 7777), 2).recv(10).decode())
except OSError: print("dead")`

func (s suite) daemons() tests {
	return tests{
		"daemon of a started process that holds stdout": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			ctx := within(t, 10*time.Second)
			p, err := b.Start(ctx, Shell("setsid yes & sleep 0.1"))
			if err != nil {
				t.Fatal(err)
			}
			go drain(p)
			if x, err := p.Wait(ctx); err != nil || x.Reason != bench.ExitExited && x.Reason != bench.ExitOutputLimit {
				t.Errorf("%+v %v", x, err)
			}
			healthy(t, b)
		},
		"of a run does not outlive it": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			mustRun(t, b, python("import os\nif os.fork(): os._exit(0)\nos.setsid()\nos.dup2(os.Open('/dev/null', 2), 1); os.dup2(1, 2)\n"+listen))
			wantRun(t, b, python(ask), "dead\n")
		},
		"server between tool calls": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			server(t, b, python(listen), "ready\n")
			for range 3 {
				mustRun(t, b, Shell("(setsid sleep 1000 &); exit 0"))
				wantRun(t, b, python(ask), "served\n")
			}
			if err := b.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantRun(t, b, python(ask), "dead\n")
			onlyLister(t, b)
		},
		"server that a started shell puts behind it": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			server(t, b, Shell("/usr/bin/python3 -I -S -c '"+listen+"' & wait"), "ready\n")
			wantRun(t, b, python(ask), "served\n")
			wantRun(t, b, python(ask), "served\n")
			if err := b.Reset(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			wantRun(t, b, python(ask), "dead\n")
		},
	}
}

func drain(p bench.Process) {
	buf := make([]byte, 32<<10)
	for {
		if _, err := p.Stdout().Read(buf); err != nil {
			return
		}
	}
}
