package supervisor

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"assay/internal/sandbox/frame"

	"golang.org/x/sys/unix"
)

// The tests here serve on a folder of the host. They send nothing that starts or
// kills processes: a supervisor that is not PID 1 would kill everything of its
// user.
func TestServe(t *testing.T) {
	for name, c := range map[string]struct {
		frames []frame.Frame
		raw    string
		want   int
	}{
		"end of stream":         {want: exitDone},
		"begin and end":         {frames: []frame.Frame{{Type: frame.TypeBegin, Head: []byte("{}")}}, want: exitDone},
		"ping":                  {frames: []frame.Frame{{Type: frame.TypeBegin, Head: []byte("{}")}, {Type: frame.TypePing, ID: 1}}, want: exitDone},
		"no begin":              {frames: []frame.Frame{{Type: frame.TypePing, Head: []byte("{}")}}, want: exitProtocol},
		"bad begin":             {frames: []frame.Frame{{Type: frame.TypeBegin, Head: []byte(`{"x":1}`)}}, want: exitProtocol},
		"not a frame":           {raw: "GET / HTTP/1.1\r\n\r\n", want: exitProtocol},
		"cut frame":             {raw: "\x00\x00\x00\x09\x01", want: exitProtocol},
		"head of a stream":      {frames: []frame.Frame{{Type: frame.TypeBegin, Head: []byte("{}")}, {Type: frame.TypeStdin, ID: 9, Head: []byte("x")}}, want: exitDone},
		"frame of a supervisor": {frames: []frame.Frame{{Type: frame.TypeBegin, Head: []byte("{}")}, {Type: frame.TypeHello, ID: 9}}, want: exitProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, w := io.Pipe()
			r, out := io.Pipe()
			go func() { _, _ = io.Copy(io.Discard, r) }()
			go func() {
				for _, f := range c.frames {
					_ = frame.Send(w, f)
				}
				_, _ = io.WriteString(w, c.raw)
				if c.want == exitDone || c.raw != "" {
					_ = w.Close()
				}
			}()
			sv := newServer(out, places{}, identity{})
			sv.work = testWorkspace(t)
			go sv.listen(in)
			if got := <-sv.over; got != c.want {
				t.Errorf("exit code %d, want %d", got, c.want)
			}
		})
	}
}

func testWorkspace(t *testing.T) workspace {
	t.Helper()
	w, err := openWorkspace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(w.fd) })
	return w
}

func TestWriteOnAFullName(t *testing.T) {
	t.Parallel()
	w := testWorkspace(t)
	if err := w.write("f", frame.WriteFile, 0o644, []byte("old")); err != nil {
		t.Fatal(err)
	}
	if err := w.write("f/below", frame.WriteFile, 0o644, nil); !errors.As(err, new(*failure)) {
		t.Errorf("file below a file: %v", err)
	}
	if err := w.write("f", "odd", 0o644, nil); err == nil {
		t.Error("an unknown kind was written")
	}
	if got, err := w.read("f", 10); err != nil || string(got) != "old" {
		t.Errorf("%q %v", got, err)
	}
	left, err := filepath.Glob(filepath.Join(w.path, ".assay*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %q %v", left, err)
	}
}

func TestPutRefusesWrongSizes(t *testing.T) {
	t.Parallel()
	w := testWorkspace(t)
	for _, c := range []struct {
		size    int64
		payload string
	}{{-1, ""}, {2, "x"}, {1, "xy"}} {
		err := w.put(frame.Tree{Files: []frame.File{{Path: []byte("f"), Size: c.size}}}, []byte(c.payload))
		if !errors.Is(err, frame.ErrProtocol) {
			t.Errorf("size %d of %q: %v", c.size, c.payload, err)
		}
	}
}

// A tree deeper than there are descriptors or path bytes is removed all the
// same.
func TestEmptyDeepTree(t *testing.T) {
	t.Parallel()
	w := testWorkspace(t)
	fd := w.fd
	for range 3000 {
		if err := unix.Mkdirat(fd, "d", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := writeNew(fd, "f", 0, nil); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(fd, "d", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if fd != w.fd {
			_ = unix.Close(fd)
		}
		if err != nil {
			t.Fatal(err)
		}
		fd = next
	}
	_ = unix.Close(fd)
	if err := emptyPath(w.path, os.Geteuid()); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(w.path)
	if err != nil || len(left) != 0 {
		t.Errorf("%d entries left, %v", len(left), err)
	}
	if err := emptyPath(filepath.Join(w.path, "absent"), 0); err != nil {
		t.Errorf("absent folder: %v", err)
	}
}
