package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"assay/internal/engine/scripted"
)

const repo = "../.."

// docs are the pages whose words are held against the tree.
func docs(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(repo, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(repo, "docs", "*", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, p := range append(append(paths, more...), filepath.Join(repo, "README.md")) {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		pages[p] = string(data)
	}
	if len(pages) < 6 {
		t.Fatalf("%d pages found: the test looks at the wrong folder", len(pages))
	}
	return pages
}

// Every link and every path of ours that a page names exists.
func TestPathsInDocsExist(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	code := regexp.MustCompile("`((?:cmd|internal|agent|grader|results|tasks|fixtures|docs|scripts)/[A-Za-z0-9_./-]+)`")
	for page, text := range docs(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			}
		}
		for _, m := range code.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(repo, m[1])); err != nil {
				t.Errorf("%s names %s: %v", page, m[1], err)
			}
		}
	}
}

// Every make target and verb that a page tells people to run is there.
func TestCommandsInDocsExist(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(repo, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	root := newRoot(processState())
	target := regexp.MustCompile("(?m)(?:^    |`)make ([a-z-]+)")
	verb := regexp.MustCompile("(?m)(?:^    (?:bin/)?|`(?:bin/)?)assay ([a-z]+)")
	found := 0
	for page, text := range docs(t) {
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			found++
			if !strings.Contains(string(makefile), "\n"+m[1]+":") {
				t.Errorf("%s: make %s is no target", page, m[1])
			}
		}
		for _, m := range verb.FindAllStringSubmatch(text, -1) {
			found++
			if c, _, err := root.Find([]string{m[1]}); err != nil || c == root {
				t.Errorf("%s: assay %s is no verb", page, m[1])
			}
		}
	}
	if found < 8 {
		t.Errorf("%d commands found: the patterns miss what the pages say", found)
	}
}

func TestExitCodesOfTheReadme(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repo, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range []int{exitDone, exitIncomplete, exitUsage, exitOurs, exitDatabase, exitInterrupted} {
		if !strings.Contains(string(text), fmt.Sprintf("\n| %d |", code)) {
			t.Errorf("the README's table lacks exit status %d", code)
		}
	}
}

func TestScriptedExampleLoads(t *testing.T) {
	profiles, err := scripted.LoadProfiles("scripted_example.toml")
	if err != nil {
		t.Fatal(err)
	}
	if len(profiles) != 1 || len(profiles[0].Programs[0].Turns) != 3 {
		t.Errorf("profiles %+v", profiles)
	}
}
