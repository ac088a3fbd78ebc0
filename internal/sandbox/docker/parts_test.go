package docker

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"assay/internal/sandbox"
	"assay/internal/sandbox/boxtest"
	"assay/internal/sandbox/docker/image"
	"assay/internal/sandbox/link"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/api/types/container"
)

func chunk(stream byte, text string) string {
	head := [8]byte{stream}
	binary.BigEndian.PutUint32(head[4:], uint32(len(text)))
	return string(head[:]) + text
}

func TestDemux(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in, out, said string
		err           error
	}{
		"both":          {in: chunk(1, "frame") + chunk(2, "words") + chunk(1, "") + chunk(1, "s"), out: "frames", said: "words"},
		"nothing":       {},
		"cut head":      {in: chunk(1, "a") + "\x01\x00", out: "a", err: io.ErrUnexpectedEOF},
		"cut words":     {in: chunk(2, "words")[:10], said: "wo", err: io.ErrUnexpectedEOF},
		"cut frame":     {in: chunk(1, "frame")[:10], out: "fr", err: io.ErrUnexpectedEOF},
		"header inside": {in: chunk(1, chunk(2, "x")), out: chunk(2, "x")},
	} {
		for kind, wrapped := range map[string]io.Reader{"whole": strings.NewReader(c.in), "byte by byte": iotest.OneByteReader(strings.NewReader(c.in))} {
			d := &demux{r: wrapped, said: &link.Tail{}}
			out, err := io.ReadAll(d)
			if string(out) != c.out || d.said.String() != c.said || !errors.Is(err, c.err) {
				t.Errorf("%s, %s: %q, said %q, %v", name, kind, out, d.said, err)
			}
		}
	}
	for _, bad := range []string{chunk(3, "engine says no"), chunk(9, "x"), "garbage!"} {
		if out, err := io.ReadAll(&demux{r: strings.NewReader(bad), said: &link.Tail{}}); err == nil {
			t.Errorf("%q was read as %q", bad, out)
		}
	}
}

func FuzzDemux(f *testing.F) {
	f.Add([]byte(chunk(1, "a") + chunk(2, "b")))
	f.Fuzz(func(t *testing.T, in []byte) {
		d := &demux{r: bytes.NewReader(in), said: &link.Tail{}}
		if out, _ := io.ReadAll(d); len(out) > len(in) || len(d.said.String()) > len(in) {
			t.Errorf("%d bytes of %d", len(out), len(in))
		}
	})
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		op   string
		err  error
		want Fault
	}{
		{opCreate, fmt.Errorf("x: %w", syscall.ECONNREFUSED), FaultGone},
		{opStart, fmt.Errorf("dial unix /x: %w", fs.ErrNotExist), FaultGone},
		{opAttach, io.ErrUnexpectedEOF, FaultGone},
		{opList, fmt.Errorf("dial unix /run/docker.sock: connect: %w", syscall.EACCES), FaultPermission},
		{opCreate, errors.New("write /var/lib/docker/x: no space left on device"), FaultDiskFull},
		{opCreate, fmt.Errorf("no such image: sha256:1: %w", errdefs.ErrNotFound), FaultImage},
		{opStart, fmt.Errorf("no such container: %w", errdefs.ErrNotFound), FaultContainer},
		{opStart, fmt.Errorf("x: %w", context.DeadlineExceeded), FaultTimeout},
		{opStart, errors.New("something else"), FaultOther},
	} {
		var e *Error
		if err := wrap(c.op, c.err); !errors.As(err, &e) || e.Fault != c.want || !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.op) {
			t.Errorf("%s %v: %v, want %s", c.op, c.err, err, c.want)
		}
		if e.Cure == "" && c.want != FaultOther && c.want != FaultContainer {
			t.Errorf("%s has no cure", c.want)
		}
	}
	if err := wrap(opList, nil); err != nil {
		t.Errorf("no failure became %v", err)
	}
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		named string
		err   error
		parts []string
	}{
		{"", fmt.Errorf("dial: %w", syscall.ENOENT), []string{"no docker engine", "systemctl start docker"}},
		{"tcp://far:2375", context.DeadlineExceeded, []string{"did not answer within 10s"}},
		{"unix:///x", syscall.ECONNREFUSED, []string{"DOCKER_HOST", "unix:///x"}},
		{"", syscall.EACCES, []string{"refuses this user", "usermod -aG docker"}},
	} {
		var u *sandbox.UnavailableError
		if err := unavailable(c.named, c.err); !errors.As(err, &u) {
			t.Errorf("%v", err)
		}
		for _, p := range c.parts {
			if !strings.Contains(u.Error(), p) {
				t.Errorf("%q does not say %q", u, p)
			}
		}
	}
}

func TestOwners(t *testing.T) {
	t.Parallel()
	us, err := newOwner()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	with := func(change map[string]string) container.Summary {
		c := container.Summary{State: container.StateRunning, Created: now.Unix(), Labels: us.labels("agent")}
		for k, v := range change {
			c.Labels[k] = v
		}
		return c
	}
	old := with(map[string]string{labelHost: "other"})
	old.State, old.Created = container.StateCreated, now.Add(-2*time.Hour).Unix()
	young := with(nil)
	young.State = container.StateCreated
	for name, c := range map[string]struct {
		of   container.Summary
		want Liveness
	}{
		"ours":                         {with(nil), OwnerAlive},
		"ours, not started yet":        {young, OwnerAlive},
		"another start of our pid":     {with(map[string]string{labelStarted: "1"}), OwnerDead},
		"no such process":              {with(map[string]string{labelPID: strconv.Itoa(1 << 30)}), OwnerDead},
		"no pid":                       {with(map[string]string{labelPID: ""}), OwnerDead},
		"another machine or boot":      {with(map[string]string{labelHost: "other"}), OwnerElsewhere},
		"never started for two hours":  {old, OwnerDead},
		"another machine, of no label": {container.Summary{Created: now.Unix()}, OwnerElsewhere},
	} {
		if got := judge(c.of, us.host, now); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if other, err := newOwner(); err != nil || other.token == us.token || other.host != us.host || other.started != us.started {
		t.Errorf("%+v %v", other, err)
	}
}

func TestReaperSeesNoSecrets(t *testing.T) {
	t.Parallel()
	got := reaperEnv([]string{"HOME=/h", "MY_API_KEY=secret", "DOCKER_HOST=tcp://x", "DOCKER_AUTH_CONFIG=secret", "DOCKER_CERT_PATH=/c", "PATH=/bin", "odd"}, "tcp://y")
	if diff := cmp.Diff([]string{"DOCKER_HOST=tcp://y", "HOME=/h", "DOCKER_CERT_PATH=/c", "PATH=/bin"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestUIDs(t *testing.T) {
	t.Parallel()
	u := newUIDs()
	seen := map[int]bool{}
	for range image.UIDs {
		uid, err := u.take()
		if err != nil || seen[uid] || uid < image.FirstUID || uid >= image.FirstUID+image.UIDs {
			t.Fatalf("uid %d, taken before: %v, %v", uid, seen[uid], err)
		}
		seen[uid] = true
	}
	if uid, err := u.take(); err == nil {
		t.Errorf("uid %d was handed out twice", uid)
	}
	u.free(58123)
	if uid, err := u.take(); err != nil || uid != 58123 {
		t.Errorf("the free uid is 58123, taken was %d, %v", uid, err)
	}
}

func TestReaperArguments(t *testing.T) {
	t.Parallel()
	for _, bad := range [][]string{nil, {""}, {"a", "b"}} {
		if code := Reap(bad, os.Stdin); code != 2 {
			t.Errorf("%q: code %d", bad, code)
		}
	}
}

func TestArchitectures(t *testing.T) {
	t.Parallel()
	for machine, want := range map[string]string{"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "riscv64": "riscv64", "": ""} {
		if got := goArch(machine); got != want {
			t.Errorf("%s is %s, want %s", machine, got, want)
		}
	}
	e := &Engine{about: About{Host: "tcp://far", Arch: "s390x"}}
	var u *sandbox.UnavailableError
	if err := e.supports(); !errors.As(err, &u) || !strings.Contains(u.Problem, "s390x") {
		t.Errorf("a foreign engine: %v", err)
	}
}

// Whenever the time runs out, it is an error: the library would panic.
func TestConnectInNoTime(t *testing.T) {
	_, err := ours()
	boxtest.Skip(t, err)
	for d := time.Duration(0); d < 40*time.Millisecond; d += time.Millisecond {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		e, err := Connect(ctx)
		cancel()
		var u *sandbox.UnavailableError
		switch {
		case err == nil:
			_ = e.Close()
		case !errors.As(err, &u):
			t.Errorf("after %s: %v", d, err)
		}
	}
}
