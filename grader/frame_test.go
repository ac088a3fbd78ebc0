package grader

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestReadFrame(t *testing.T) {
	tests := []struct {
		name, in, want string
		eof            bool
	}{
		{"whole", "\x00\x00\x00\x02{}", "{}", false},
		{"nothing", "", "", true},
		{"cut length", "\x00\x00", "", false},
		{"cut body", "\x00\x00\x00\x05{}", "", false},
		{"empty", "\x00\x00\x00\x00", "", false},
		{"too large", "\x00\x00\x00\x09123456789", "", false},
		{"absurd", "\xff\xff\xff\xff", "", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b, err := readFrame(strings.NewReader(test.in), 8)
			switch {
			case test.want != "":
				if err != nil || string(b) != test.want {
					t.Errorf("got %q, %v", b, err)
				}
			case test.eof:
				if err != io.EOF {
					t.Errorf("got %v, want EOF", err)
				}
			case !errors.Is(err, errBadFrame):
				t.Errorf("got %q, %v", b, err)
			}
		})
	}
}

func TestDecodeAnswer(t *testing.T) {
	good := []string{
		`{"op":"reply","n":3,"value":null}`,
		`{"op":"reply","n":3,"value":{"f":"0x1.0p+0"}}`,
		`{"n":3,"value":"\ud800","op":"reply"}`,
		`{"op":"reply","n":3,"error":{"class":"ValueError"}}`,
		`{"op":"reply","n":3,"refused":"x"}`,
	}
	for _, in := range good {
		if _, err := decodeAnswer([]byte(in), 3); err != nil {
			t.Errorf("%s: %v", in, err)
		}
	}
	bad := []string{
		``, `[]`, `null`, `{}`, `"reply"`, `{"op":"reply","n":3}`,
		`{"op":"reply","n":4,"value":1}`,
		`{"op":"replay","n":3,"value":1}`,
		`{"op":"reply","n":3,"value":1,"error":{}}`,
		`{"op":"reply","n":3,"value":1,"more":1}`,
		`{"op":"reply","n":3,"more":1}`,
		`{"op":"reply","n":3,"value":1}{"op":"reply"}`,
		`{"op":"reply","n":3,"n":3,"value":1}`,
		`{"op":"reply","OP":"reply","n":3,"value":1}`,
		`{"Op":"reply","n":3,"value":1}`,
		`{"\u006fp":"reply","n":3,"value":1}`,
		`{"op":"reply","n":3,"value":1.0}`,
		`{"op":"reply","n":3,"value":1e5}`,
		`{"op":"reply","n":3,"value":NaN}`,
		`{"op":"reply","n":3,"value":123456789012345678}`,
		`{"op":"reply","n":3,"value":"` + "\xff" + `"}`,
		`{"op":"reply","n":3,"value":"ä"}`,
		`{"op":"reply","n":3, "value":1}`,
		`{"op":"reply","n":3,"value":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`,
		`{"op":"reply","n":3,"refused":null}`,
	}
	for _, in := range bad {
		if a, err := decodeAnswer([]byte(in), 3); !errors.Is(err, errBadFrame) {
			t.Errorf("%.80s: got %+v, %v", in, a, err)
		}
	}
}

// The bytes of a value pass the host as they are.
func TestValuesAreNotTouched(t *testing.T) {
	value := `[{"i":"de0b6b3a7640000"},"\ud800","<&>\u2028",12345678901234567]`
	a, err := decodeAnswer([]byte(`{"op":"reply","n":1,"value":`+value+`}`), 1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := encode(msgReply{Op: "reply", N: 1, Value: a.Value})
	if err != nil || !bytes.Contains(b, []byte(value)) {
		t.Errorf("%s, %v", b, err)
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x02{}"))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		b, err := readFrame(bytes.NewReader(in), 1024)
		if err == nil && !bytes.HasPrefix(in, frame(b)) {
			t.Errorf("%q is no frame of %q", b, in)
		}
	})
}

// A frame that is let through says the same to every reader: each key once, in its
// own spelling, and nothing that Go and Python read differently.
func FuzzDecodeAnswer(f *testing.F) {
	f.Add([]byte(`{"op":"reply","n":1,"value":[{"t":[1,"a"]}]}`))
	f.Add([]byte(`{"op":"reply","n":1,"error":{"class":"ValueError","args":{"t":[]}}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		a, err := decodeAnswer(in, 1)
		if err != nil {
			if !errors.Is(err, errBadFrame) {
				t.Errorf("%q: %v", in, err)
			}
			return
		}
		var m map[string]json.RawMessage
		if err := json.Unmarshal(in, &m); err != nil || len(m) != 3 || string(m["op"]) != `"reply"` || string(m["n"]) != "1" {
			t.Errorf("%q: %v", in, m)
		}
		if a.Value != nil && !bytes.Equal(a.Value, m["value"]) {
			t.Errorf("value %q became %q", m["value"], a.Value)
		}
		if d := strings.Count(string(in), "["); d > 100_000 {
			t.Errorf("%d brackets", d)
		}
	})
}

func FuzzRequests(f *testing.F) {
	f.Add([]byte(`{"op":"run","n":1,"lane":0,"argv":["a"],"cwd":"","env":[],"stdin":"","wall_ms":0}`))
	f.Add([]byte(`{"op":"do","n":1,"lane":0,"act":"get","target":0,"name":"f","args":[],"kwargs":[]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		_, keys, err := opOf(in)
		if err != nil {
			return
		}
		for _, decoded := range []func() error{
			func() error { _, err := decode[msgRun](in, keys); return err },
			func() error { _, err := decode[msgDo](in, keys); return err },
			func() error { _, err := decode[msgEnd](in, keys); return err },
		} {
			if err := decoded(); err != nil && !errors.Is(err, errBadFrame) {
				t.Errorf("%q: %v", in, err)
			}
		}
	})
}
