package frame

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	var all []Frame
	for _, size := range []int{0, 1, 64 << 10, 64<<10 + 1, 3 << 20} {
		f, err := New(TypeWrite, 7, Write{Path: []byte("a\xff/b"), Kind: WriteFile, Mode: 0o644}, bytes.Repeat([]byte{'x'}, size))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	var wire bytes.Buffer
	for _, f := range all {
		if err := Send(&wire, f); err != nil {
			t.Fatal(err)
		}
	}
	r := iotest.HalfReader(&wire)
	for i, want := range all {
		got, err := Receive(r)
		if err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		if got.Type != want.Type || got.ID != want.ID || !bytes.Equal(got.Head, want.Head) || !bytes.Equal(got.Payload, want.Payload) {
			t.Fatalf("frame %d came back different", i)
		}
		h, err := Decode[Write](got)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Write{Path: []byte("a\xff/b"), Kind: WriteFile, Mode: 0o644}, h); diff != "" {
			t.Errorf("head (-want +got)\n%s", diff)
		}
	}
	if _, err := Receive(r); !errors.Is(err, io.EOF) {
		t.Errorf("end of stream: %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in   []byte
		want error
	}{
		"short length":     {[]byte{0, 0}, io.ErrUnexpectedEOF},
		"length too small": {[]byte{0, 0, 0, 8, 1, 0, 0, 0, 0, 0, 0, 0}, ErrProtocol},
		"length too large": {[]byte{255, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}, ErrProtocol},
		"unknown type":     {[]byte{0, 0, 0, 9, 200, 0, 0, 0, 0, 0, 0, 0, 0}, ErrProtocol},
		"head too long":    {[]byte{0, 0, 0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 1}, ErrProtocol},
		"cut in the fixed": {[]byte{0, 0, 0, 9, 2, 0}, io.ErrUnexpectedEOF},
		"cut in the head":  {[]byte{0, 0, 0, 12, 2, 0, 0, 0, 0, 0, 0, 0, 3, '{'}, io.ErrUnexpectedEOF},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Receive(bytes.NewReader(tt.in)); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for _, head := range []string{``, `[]`, `{"eof":true,"more":1}`, `{"eof":true} {}`, `{"eof":1}`} {
		if _, err := Decode[Stdin](Frame{Type: TypeStdin, Head: []byte(head)}); !errors.Is(err, ErrProtocol) {
			t.Errorf("head %q: %v", head, err)
		}
	}
}

func TestNewRefusesOverCap(t *testing.T) {
	t.Parallel()
	if _, err := New(TypePut, 1, nil, make([]byte, MaxPayload+1)); err == nil {
		t.Error("payload over the cap was accepted")
	}
	if _, err := New(TypeFail, 1, Fail{Message: string(make([]byte, MaxHead))}, nil); err == nil {
		t.Error("head over the cap was accepted")
	}
}

func FuzzRead(f *testing.F) {
	for _, fr := range []Frame{{Type: TypePing, ID: 1, Head: []byte("{}")}, {Type: TypeStdout, Payload: []byte("abc")}} {
		var b bytes.Buffer
		if err := Send(&b, fr); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte{0, 0, 0, 12, 2, 0, 0, 0, 0, 0, 0, 0, 3, '{', '}', ' '})
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		got, err := Receive(r)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := Send(&b, got); err != nil {
			t.Fatal(err)
		}
		if used := in[:len(in)-r.Len()]; !bytes.Equal(used, b.Bytes()) {
			t.Errorf("read %x, wrote %x", used, b.Bytes())
		}
		if _, err := Decode[Fail](got); err != nil && !errors.Is(err, ErrProtocol) {
			t.Errorf("untyped decode error: %v", err)
		}
	})
}
