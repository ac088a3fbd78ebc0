package link

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"
	"assay/internal/sandbox/frame"

	"go.uber.org/goleak"
)

// fake is a supervisor that says what a test wants.
type fake struct {
	io.Reader
	io.Writer
	close func() error
}

func (f fake) Close() error      { return f.close() }
func (f fake) Diagnosis() string { return "last words" }
func (f fake) Cause() error      { return nil }

// play runs a supervisor on one end and returns the other.
func play(supervisor func(in io.Reader, out io.Writer)) fake {
	hostIn, out := io.Pipe()
	in, hostOut := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		supervisor(in, out)
		_ = out.Close()
		_ = in.Close()
	}()
	return fake{hostIn, hostOut, sync.OnceValue(func() error {
		_ = hostOut.Close()
		_ = hostIn.Close()
		<-ended
		return nil
	})}
}

func say(out io.Writer, t frame.Type, id uint32, head any, payload string) {
	f, err := frame.New(t, id, head, []byte(payload))
	if err == nil {
		_ = frame.Send(out, f)
	}
}

// script greets, then answers every request with what answer makes of it.
func script(answer func(f frame.Frame, out io.Writer)) func(io.Reader, io.Writer) {
	return func(in io.Reader, out io.Writer) {
		go func() { say(out, frame.TypeHello, 0, frame.Hello{Version: frame.Version}, "") }()
		for {
			f, err := frame.Receive(in)
			if err != nil {
				return
			}
			if f.Type != frame.TypeBegin {
				answer(f, out)
			}
		}
	}
}

func openFake(t *testing.T, supervisor func(io.Reader, io.Writer)) (*Box, error) {
	t.Helper()
	o, err := sandbox.Options{}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return Open(ctx, play(supervisor), o, bench.Environment{})
}

func TestHelloRefused(t *testing.T) {
	defer goleak.VerifyNone(t)
	for name, s := range map[string]func(io.Reader, io.Writer){
		"ends at once": func(io.Reader, io.Writer) {},
		"speaks text":  func(_ io.Reader, out io.Writer) { _, _ = io.WriteString(out, "hello, host\n") },
		"other version": func(in io.Reader, out io.Writer) {
			say(out, frame.TypeHello, 0, frame.Hello{Version: 99}, "")
			_, _ = io.Copy(io.Discard, in)
		},
		"other frame": func(in io.Reader, out io.Writer) {
			say(out, frame.TypeDone, 0, nil, "")
			_, _ = io.Copy(io.Discard, in)
		},
		"unknown fields": func(in io.Reader, out io.Writer) {
			say(out, frame.TypeHello, 0, map[string]int{"version": 1, "x": 1}, "")
			_, _ = io.Copy(io.Discard, in)
		},
	} {
		if b, err := openFake(t, s); !errors.Is(err, bench.ErrBoxLost) || !strings.Contains(err.Error(), "last words") {
			t.Errorf("%s: %v %v", name, b, err)
		}
	}
}

func TestBrokenAnswersLoseTheBox(t *testing.T) {
	defer goleak.VerifyNone(t)
	for name, answer := range map[string]func(frame.Frame, io.Writer){
		"wrong type":     func(f frame.Frame, out io.Writer) { say(out, frame.TypeEntries, f.ID, frame.Entries{}, "") },
		"unknown id":     func(f frame.Frame, out io.Writer) { say(out, frame.TypeDone, f.ID+1, nil, "") },
		"process frame":  func(f frame.Frame, out io.Writer) { say(out, frame.TypeStdout, f.ID, nil, "x") },
		"broken failure": func(f frame.Frame, out io.Writer) { say(out, frame.TypeFail, f.ID, map[string]int{"odd": 1}, "") },
		"garbage":        func(_ frame.Frame, out io.Writer) { _, _ = io.WriteString(out, "garbage that is no frame") },
	} {
		b, err := openFake(t, script(answer))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.ReadFile(t.Context(), "x", 10); !errors.Is(err, bench.ErrBoxLost) {
			t.Errorf("%s: %v", name, err)
		}
		if err := b.Sweep(t.Context()); !errors.Is(err, bench.ErrBoxLost) {
			t.Errorf("%s: the box lives on: %v", name, err)
		}
		_ = b.Close()
	}
}

func TestFailuresBecomeErrors(t *testing.T) {
	for _, c := range []struct {
		fail  frame.Fail
		check func(error) bool
	}{
		{frame.Fail{Code: frame.FailErrno, Op: "open", Path: []byte("a"), Errno: int(syscall.ENOENT)}, func(err error) bool { return errors.Is(err, fs.ErrNotExist) }},
		{frame.Fail{Code: frame.FailErrno, Op: "open", Path: []byte("a"), Errno: int(syscall.EACCES)}, func(err error) bool { return errors.Is(err, fs.ErrPermission) }},
		{frame.Fail{Code: frame.FailErrno, Errno: int(syscall.EAGAIN), Message: "fork"}, func(err error) bool { return errors.Is(err, syscall.EAGAIN) }},
		{frame.Fail{Code: frame.FailEscape, Path: []byte("a")}, func(err error) bool { return errors.As(err, new(*sandbox.EscapeError)) }},
		{frame.Fail{Code: frame.FailTooLarge, Size: 3, Max: 2}, func(err error) bool { return errors.As(err, new(*sandbox.TooLargeError)) }},
		{frame.Fail{Code: frame.FailNotRegular, Kind: "dir"}, func(err error) bool { return errors.As(err, new(*sandbox.NotRegularError)) }},
		{frame.Fail{Code: "odd", Message: "what"}, func(err error) bool { return strings.Contains(err.Error(), "what") }},
	} {
		if err := failed(c.fail); !c.check(err) || errors.Is(err, bench.ErrBoxLost) {
			t.Errorf("%+v: %v", c.fail, err)
		}
	}
}

// A supervisor that sends more output than was asked for breaks the protocol
// before it fills the host's memory.
func TestOutputBeyondTheWindow(t *testing.T) {
	defer goleak.VerifyNone(t)
	b, err := openFake(t, script(func(f frame.Frame, out io.Writer) {
		if f.Type == frame.TypeStart {
			for range frame.Window/(32<<10) + 1 {
				say(out, frame.TypeStdout, f.ID, nil, strings.Repeat("x", 32<<10))
			}
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	p, err := b.Start(t.Context(), bench.Command{Argv: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(t.Context()); !errors.Is(err, bench.ErrBoxLost) || !errors.Is(err, frame.ErrProtocol) {
		t.Errorf("got %v", err)
	}
}

// Nothing overtakes a request that was abandoned: a box that sweeps late would end
// what was started meanwhile.
func TestNothingOvertakesAnAbandonedRequest(t *testing.T) {
	defer goleak.VerifyNone(t)
	asked, release, started := make(chan uint32, 1), make(chan struct{}), make(chan struct{})
	b, err := openFake(t, script(func(f frame.Frame, out io.Writer) {
		switch f.Type {
		case frame.TypeSweep:
			asked <- f.ID
			go func() {
				<-release
				say(out, frame.TypeDone, f.ID, nil, "")
			}()
		case frame.TypeStart:
			close(started)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if err := b.Sweep(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	short, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := b.Start(short, bench.Command{Argv: []string{"x"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a start overtook the sweep: %v", err)
	}
	close(release)
	if _, err := b.Start(t.Context(), bench.Command{Argv: []string{"x"}}); err != nil {
		t.Fatal(err)
	}
	<-started
}

func TestWaitEndsWithItsContext(t *testing.T) {
	defer goleak.VerifyNone(t)
	b, err := openFake(t, script(func(frame.Frame, io.Writer) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	p, err := b.Start(t.Context(), bench.Command{Argv: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestBadCommands(t *testing.T) {
	for _, c := range []bench.Command{{}, {Argv: []string{""}}, {Argv: []string{"a\x00b"}}, {Argv: []string{"a"}, Env: []string{"A=\x00"}}, {Argv: []string{"a"}, Dir: "/etc"}} {
		if _, err := startHead(c, false, false); err == nil {
			t.Errorf("%q was accepted", c.Argv)
		}
	}
	h, err := startHead(bench.Command{Argv: []string{"a"}, Limits: bench.ProcessLimits{Wall: 1500 * time.Millisecond}}, false, false)
	if err != nil {
		t.Fatal(err)
	}
	if h.Limits.WallMS != 1500 || h.Limits.CPUSeconds != 2 || h.Limits.OutputBytes != sandbox.DefaultOutputBytes || h.Limits.OpenFiles != sandbox.DefaultOpenFiles {
		t.Errorf("%+v", h.Limits)
	}
}

func FuzzExported(f *testing.F) {
	f.Add([]byte(`{"files":[{"path":"YQ==","size":1}],"skipped":[]}`), []byte("x"))
	f.Add([]byte(`{"files":[{"path":"YQ==","size":-1}]}`), []byte("x"))
	f.Add([]byte(`{"files":[{"path":"Li4vYQ==","size":1}]}`), []byte("x"))
	f.Fuzz(func(t *testing.T, head, payload []byte) {
		x, err := exported(frame.Frame{Type: frame.TypeExported, Head: head, Payload: payload})
		if err != nil {
			return
		}
		if x.Tree.Size() > int64(len(payload)) {
			t.Errorf("%d bytes out of %d", x.Tree.Size(), len(payload))
		}
		for _, file := range x.Tree {
			if bench.CheckPath(file.Path) != nil {
				t.Errorf("path %q", file.Path)
			}
		}
	})
}

// What a supervisor does not count stays unknown.
func TestKillsForMemory(t *testing.T) {
	defer goleak.VerifyNone(t)
	two := int64(2)
	for _, counts := range []bool{true, false} {
		b, err := openFake(t, func(in io.Reader, out io.Writer) {
			go say(out, frame.TypeHello, 0, frame.Hello{Version: frame.Version, OOMCounter: counts}, "")
			for {
				f, err := frame.Receive(in)
				if err != nil {
					return
				}
				if f.Type == frame.TypeStart {
					x := frame.Exit{Reason: string(bench.ExitExited)}
					if counts {
						x.OOMKills = &two
					}
					say(out, frame.TypeExit, f.ID, x, "")
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		r, err := b.Run(t.Context(), bench.Command{Argv: []string{"x"}})
		if err != nil || b.CountsOOM() != counts || (r.OOMKills != nil) != counts || counts && *r.OOMKills != 2 {
			t.Errorf("counts %v: %+v %v", counts, r.Exit, err)
		}
		_ = b.Close()
	}
}
