package image

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"assay/internal/sandbox"
)

func goodLabel() label {
	hex := strings.Repeat("0f", 32)
	return label{
		Format: labelFormat, Recipe: "r", Suite: "s", Root: hex, Python: "3", Packages: hex,
		Base: []string{"sha256:" + hex}, Supervisor: hex, SupervisorLayer: "sha256:" + hex,
	}
}

func TestParseLabel(t *testing.T) {
	t.Parallel()
	if got, err := parseLabel(goodLabel().String()); err != nil || got.String() != goodLabel().String() {
		t.Errorf("%v %v", got, err)
	}
	for name, harm := range map[string]func(*label){
		"format":           func(l *label) { l.Format++ },
		"no recipe":        func(l *label) { l.Recipe = "" },
		"root":             func(l *label) { l.Root = "x" },
		"packages":         func(l *label) { l.Packages = strings.ToUpper(l.Packages) },
		"no base":          func(l *label) { l.Base = nil },
		"many bases":       func(l *label) { l.Base = make([]string, maxLayers+1) },
		"base":             func(l *label) { l.Base = []string{"sha256:12"} },
		"half supervisor":  func(l *label) { l.SupervisorLayer = "" },
		"other half":       func(l *label) { l.Supervisor = "" },
		"supervisor":       func(l *label) { l.Supervisor = "12" },
		"supervisor layer": func(l *label) { l.SupervisorLayer = "md5:12" },
	} {
		l := goodLabel()
		harm(&l)
		if got, err := parseLabel(l.String()); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	for _, text := range []string{"", "{}", "null", goodLabel().String() + "{}", strings.Replace(goodLabel().String(), "{", `{"x":1,`, 1), strings.Repeat(" ", maxLabel) + goodLabel().String()} {
		if got, err := parseLabel(text); err == nil {
			t.Errorf("%.40q: %v", text, got)
		}
	}
}

func FuzzLabel(f *testing.F) {
	f.Add(goodLabel().String())
	f.Add("{}")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := parseLabel(text)
		if err != nil {
			return
		}
		if again, err := parseLabel(l.String()); err != nil || again.String() != l.String() {
			t.Errorf("%q is read as %v, and that as %v, %v", text, l, again, err)
		}
	})
}

func TestReadMessages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, fault string
		n                 int
		said              bool // by the engine
	}{
		{name: "empty"},
		{name: "two", text: "{\"status\":\"a\",\"id\":\"x\"}\r\n{\"stream\":\"b\"}\n", n: 2},
		{name: "fault", text: `{"status":"a"}{"errorDetail":{"message":"full"},"error":"full"}{"status":"b"}`, n: 1, fault: "full", said: true},
		{name: "old fault", text: `{"error":"full"}`, fault: "full", said: true},
		{name: "wordless", text: `{"errorDetail":{"code":5}}`, fault: "without words", said: true},
		{name: "no json", text: "<html>", fault: "read the engine's answer"},
		{name: "cut", text: `{"status":`, fault: "read the engine's answer"},
		{name: "long", text: `{"status":"` + strings.Repeat("x", maxMessage) + `"}`, fault: "more than"},
	} {
		n := 0
		err := readMessages(strings.NewReader(c.text), func(message) { n++ })
		if n != c.n || (err != nil) != (c.fault != "") || refused(err) != c.said || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %d messages, %v", c.name, n, err)
		}
	}
	many := io.MultiReader(strings.NewReader(strings.Repeat("{\"status\":\"x\"}\n", 200_000)), strings.NewReader(`{"error":"late"}`))
	if err := readMessages(many, nil); !refused(err) {
		t.Errorf("many small messages: %v", err)
	}
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte("{\"status\":\"a\",\"progressDetail\":{\"current\":1,\"total\":2},\"id\":\"x\"}\r\n{\"errorDetail\":{\"message\":\"m\"}}"))
	f.Add([]byte(`{"error":5}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p := pullProgress{say: func(string) {}, layers: map[string]message{}}
		err := readMessages(bytes.NewReader(text), p.take)
		if len(p.layers) > maxLayers {
			t.Errorf("%d layers are kept", len(p.layers))
		}
		if bytes.Contains(text, []byte(`{"errorDetail":{"message":"m"}}`)) && bytes.HasPrefix(text, []byte(`{"errorDetail"`)) && err == nil {
			t.Error("an error is overlooked")
		}
	})
}

func TestProgram(t *testing.T) {
	t.Parallel()
	tree := fakeTree(t, t.TempDir())
	var u *sandbox.UnavailableError
	for _, c := range []struct {
		machine            uint16
		loader, arch, says string
	}{
		{machine: amd64, arch: "amd64"},
		{machine: arm64, arch: "arm64"},
		{machine: amd64, loader: "/lib64/ld-linux-x86-64.so.2", arch: "amd64"},
		{machine: amd64, loader: "/lib/ld-musl-x86_64.so.1", arch: "amd64", says: "/lib/ld-musl-x86_64.so.1"},
		{machine: 8, says: "EM_MIPS"},
	} {
		p, err := readProgram(elfFile(t, c.machine, c.loader, ""))
		if err == nil {
			if p.architecture != c.arch {
				t.Errorf("%+v: %s", c, p.architecture)
			}
			unseen := p.loadsUnseen()
			if err = p.loadsIn(tree.Path); (unseen == nil) != (err == nil) {
				t.Errorf("%+v: with a tree %v, without %v", c, err, unseen)
			}
		}
		if (err != nil) != (c.says != "") || err != nil && (!errors.As(err, &u) || !strings.Contains(u.Problem, c.says)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if _, err := readProgram("parts_test.go"); !errors.As(err, &u) || !strings.Contains(u.Problem, "no program for linux") {
		t.Errorf("%v", err)
	}
}

func TestForeignArchitecture(t *testing.T) {
	t.Parallel()
	f := newFakeEngine()
	w := newWorld(t, f)
	w.tree.Architecture = "arm64"
	var u *sandbox.UnavailableError
	if _, err := w.ensure(t); !errors.As(err, &u) || !strings.Contains(u.Problem, "arm64") || !strings.Contains(u.Problem, "amd64") {
		t.Errorf("tree: %v", err)
	}
	f.arch = "aarch64"
	if _, err := w.ensure(t); !errors.As(err, &u) || !strings.Contains(u.Problem, "arm64") || !strings.Contains(u.Problem, "amd64") {
		t.Errorf("engine: %v", err)
	}
	f.arch, f.os = "amd64", "windows"
	if _, err := w.ensure(t); !errors.As(err, &u) || !strings.Contains(u.Problem, "windows") {
		t.Errorf("engine: %v", err)
	}
}
