package boxtest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"
)

func (s suite) streams() tests {
	return tests{
		"binary output": func(t *testing.T) {
			got := mustRun(t, s.box(t, sandbox.Options{}), python("import sys; sys.stdout.buffer.write(bytes(range(256))*300)"))
			var want []byte
			for range 300 {
				for i := range 256 {
					want = append(want, byte(i))
				}
			}
			if !bytes.Equal([]byte(got), want) {
				t.Errorf("%d bytes came, not the %d that were written", len(got), len(want))
			}
		},
		// Bytes that an engine's own stream would take for a header.
		"output that looks like stream headers": func(t *testing.T) {
			head := "\x01\x00\x00\x00\x00\x00\x00\x08" + "\x02\x00\x00\x00\xff\xff\xff\xff" + "\x00\x00\x00\x09\x01\x00\x00\x00\x00\x00\x00\x00\x00"
			r := run(t, s.box(t, sandbox.Options{}), python(`
import os
head = bytes.fromhex("0100000000000008" "02000000ffffffff" "00000009010000000000000000")
for i in range(2000):
    os.write(1, head); os.write(2, b"\x02" + head)
os.write(1, head[:5])`))
			want := strings.Repeat(head, 2000) + head[:5]
			if string(r.Stdout) != want || string(r.Stderr) != strings.Repeat("\x02"+head, 2000) {
				t.Errorf("%d bytes of stdout, %d of stderr", len(r.Stdout), len(r.Stderr))
			}
		},
		"invalid UTF-8": func(t *testing.T) {
			want := "\xff\xfe\xc3\x28\xed\xa0\x80\xf4\x90\x80\x80\x00\u2028end"
			wantRun(t, s.box(t, sandbox.Options{}), python(`import os; os.write(1, b"\xff\xfe\xc3\x28\xed\xa0\x80\xf4\x90\x80\x80\0\xe2\x80\xa8end")`), want)
		},
		"stdin": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			in := bytes.Repeat([]byte("0123456789abcdef"), 100_000)
			c := Shell("cat")
			c.Stdin = in
			if got := mustRun(t, b, c); got != string(in) {
				t.Errorf("cat gave %d bytes of %d", len(got), len(in))
			}
			c = Shell("exec head -c 3") // leaves most of it unread
			c.Stdin = in
			if got := mustRun(t, b, c); got != "012" {
				t.Errorf("head gave %q", got)
			}
			if got := mustRun(t, b, Shell("cat")); got != "" {
				t.Errorf("no stdin reads as %q", got)
			}
			c = Shell("cat")
			c.Stdin = []byte{}
			if got := mustRun(t, b, c); got != "" {
				t.Errorf("empty stdin reads as %q", got)
			}
		},
		"stdin that nobody reads": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			for name, source := range map[string]string{"open": "echo done", "closed": "exec <&-; echo done"} {
				c := Shell(source)
				c.Stdin = make([]byte, 4<<20)
				begun := time.Now()
				if got := mustRun(t, b, c); got != "done\n" {
					t.Errorf("%s: %q", name, got)
				}
				took(t, name, begun, 5*time.Second)
			}
		},
		"early end of stdin": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			ctx := within(t, 10*time.Second)
			p, err := b.Start(ctx, Shell("cat; echo ended; head -c 100000 /dev/zero | tr '\\0' x"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(p.Stdin(), "in "); err != nil {
				t.Fatal(err)
			}
			if err := p.Stdin().Close(); err != nil {
				t.Fatal(err)
			}
			out, err := io.ReadAll(p.Stdout())
			if err != nil || string(out) != "in ended\n"+strings.Repeat("x", 100000) {
				t.Errorf("%d bytes, %v", len(out), err)
			}
			if x, err := p.Wait(ctx); err != nil || x.Reason != bench.ExitExited {
				t.Errorf("%+v %v", x, err)
			}
		},
		"both ways at once": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			ctx := within(t, 20*time.Second)
			p, err := b.Start(ctx, Shell("exec cat"))
			if err != nil {
				t.Fatal(err)
			}
			in := bytes.Repeat([]byte("\x00\x01\xff\n0123456789ab"), 256<<10) // 4 MiB
			written := make(chan error, 1)
			go func() {
				_, err := p.Stdin().Write(in)
				written <- errors.Join(err, p.Stdin().Close())
			}()
			out, err := io.ReadAll(p.Stdout())
			if werr := <-written; err != nil || werr != nil || !bytes.Equal(in, out) {
				t.Errorf("%d of %d bytes came back, %v, %v", len(out), len(in), err, werr)
			}
		},
		"streams of two at once": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			ctx := within(t, 20*time.Second)
			echo := python("import sys\nfor l in sys.stdin: print(l.strip()*2, flush=True)\nprint('end')")
			var ps [2]bench.Process
			for i := range ps {
				p, err := b.Start(ctx, echo)
				if err != nil {
					t.Fatal(err)
				}
				ps[i] = p
			}
			for range 20 {
				for i, p := range ps {
					in := string(rune('a' + i))
					if _, err := io.WriteString(p.Stdin(), in+"\n"); err != nil {
						t.Fatal(err)
					}
					line := make([]byte, 3)
					if _, err := io.ReadFull(p.Stdout(), line); err != nil || string(line) != in+in+"\n" {
						t.Fatalf("process %d answered %q, %v", i, line, err)
					}
				}
			}
			for i, p := range ps {
				if err := p.Stdin().Close(); err != nil {
					t.Fatal(err)
				}
				rest, err := io.ReadAll(p.Stdout())
				x, werr := p.Wait(ctx)
				if err != nil || werr != nil || string(rest) != "end\n" || x.Reason != bench.ExitExited {
					t.Errorf("process %d: %q %v %+v %v", i, rest, err, x, werr)
				}
				if _, err := p.Stdin().Write([]byte("x")); !errors.Is(err, fs.ErrClosed) {
					t.Errorf("write to an ended process: %v", err)
				}
			}
		},
		"a reader that does not read holds up nobody": func(t *testing.T) {
			b := s.box(t, sandbox.Options{})
			ctx := within(t, 20*time.Second)
			p, err := b.Start(ctx, bench.Command{Argv: []string{"/usr/bin/yes"}, Env: Env, Limits: bench.ProcessLimits{Wall: 20 * time.Second, OutputBytes: 1 << 40}})
			if err != nil {
				t.Fatal(err)
			}
			mustRun(t, b, Shell("echo other"))
			got := make([]byte, 2<<20)
			if _, err := io.ReadFull(p.Stdout(), got); err != nil || bytes.Count(got, []byte("y\n")) != 1<<20 {
				t.Errorf("%d lines of yes, %v", bytes.Count(got, []byte("y\n")), err)
			}
			p.Kill()
			if x, err := p.Wait(ctx); err != nil || x.Reason != bench.ExitKilled {
				t.Errorf("%+v %v", x, err)
			}
		},
	}
}
