package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/doctor"
	"assay/internal/sandbox"
	"assay/internal/sandbox/bwrap"
	"assay/internal/sandbox/docker"
	"assay/internal/sandbox/rootfs"
)

// The page names every check.
func TestDoctorsPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repo, "docs", "doctor.md"))
	if err != nil {
		t.Fatal(err)
	}
	probes, err := doctorProbes(processState())
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Concat(needs(docker.Kind), needs(bwrap.Kind))
	for _, p := range probes {
		names = append(names, p.Name)
	}
	if len(names) < 20 {
		t.Fatalf("%d names of checks", len(names))
	}
	for _, name := range names {
		if !strings.Contains(string(text), "| "+name+" |") {
			t.Errorf("docs/doctor.md says nothing about the check %q", name)
		}
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	checks := func(bad string) []doctor.Check {
		var all []doctor.Check
		for _, name := range slices.Concat(needs(docker.Kind), needs(bwrap.Kind), []string{"nvidia"}) {
			c := doctor.Check{Name: name, State: doctor.Warn}
			if strings.Contains(bad, name+";") {
				c.State = doctor.Fail
			}
			all = append(all, c)
		}
		return all
	}
	for name, test := range map[string]struct {
		kind, bad string
		want      string // in the error; empty: none
	}{
		"all well":                   {"auto", "", ""},
		"a card fails":               {"auto", "nvidia;", ""},
		"no engine, bwrap works":     {"auto", "engine;", ""},
		"no engine, asked for":       {"docker", "engine;", "docker boxes cannot be used: mend engine"},
		"no tree, docker works":      {"auto", "root tree;", ""},
		"no tree, asked for":         {"bwrap", "root tree;", "bwrap boxes cannot be used: mend root tree"},
		"neither":                    {"auto", "image;bwrap box;", "mend image\nbwrap boxes cannot be used: mend bwrap box"},
		"no engine, bwrap asked for": {"bwrap", "engine;image;", ""},
	} {
		err := verdict(test.kind, checks(test.bad))
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || exitCode(err) != exitIncomplete):
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	if err := verdict("docker", nil); err == nil {
		t.Error("a kind of which nothing is known counts as usable")
	}
}

func TestTreeCheck(t *testing.T) {
	t.Parallel()
	unable := &sandbox.UnavailableError{Problem: "only root can build it", Cure: "run as root"}
	for name, test := range map[string]struct {
		found       bool
		err, build  error
		state       doctor.State
		word, cured string
	}{
		"there":             {true, nil, unable, doctor.OK, "bookworm, Python 3.11.2, /r", ""},
		"to be built":       {false, nil, nil, doctor.Warn, "not built yet", "assay demo"},
		"not to be built":   {false, nil, unable, doctor.Fail, "only root", "run as root"},
		"cannot be read":    {false, errors.New("i/o error"), nil, doctor.Fail, "i/o error", "remove the tree"},
		"no system is told": {false, nil, errors.New("no os-release"), doctor.Fail, "os-release", "remove"},
	} {
		root := rootfs.Root{Suite: "bookworm", Python: "3.11.2", Path: "/r"}
		c := treeCheck(root, test.found, test.err, func() error { return test.build })
		if c.State != test.state || !strings.Contains(c.Found, test.word) || !strings.Contains(c.Cure, test.cured) || (c.Cure == "") != (c.State == doctor.OK) {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
