package results

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"assay/internal/bench"
)

// childEnv makes this test binary a writer of the database that it names.
const childEnv = "RESULTS_TEST_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		childWrites(path)
		return
	}
	os.Exit(m.Run())
}

// childWrites works on cell after cell until it is killed, and says what was
// written once a method returned.
func childWrites(path string) {
	fail := func(err error) {
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
	}
	ctx := context.Background()
	s, err := Open(ctx, path, Options{Version: "child"})
	fail(err)
	p := plan(60)
	cohort, err := s.EnsureCohort(ctx, p)
	fail(err)
	fmt.Println("open")
	for i, cell := range p.Cells {
		a, err := s.BeginAttempt(ctx, cohort, cell, attemptStart())
		fail(err)
		fail(s.AddResponse(ctx, a, 1, fullResponse(), nil))
		tree, err := bench.NewTree([]bench.File{{Path: "ledger.py", Data: noise(100<<10 + i)}})
		fail(err)
		c := bench.NewCandidate(bench.Export{Tree: tree})
		fail(s.EndAttempt(ctx, a, attemptEnd(bench.StopSubmitted, &c)))
		fmt.Println("ended", a)
	}
	select {}
}

type child struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startChild(t *testing.T, path string) *child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	c := &child{cmd: cmd, lines: bufio.NewScanner(out)}
	t.Cleanup(func() { c.kill() })
	if line := c.next(); line != "open" {
		t.Fatalf("child says %q", line)
	}
	return c
}

func (c *child) next() string {
	c.lines.Scan()
	return c.lines.Text()
}

func (c *child) kill() (rest []string) {
	c.cmd.Process.Signal(syscall.SIGKILL)
	for c.lines.Scan() {
		rest = append(rest, c.lines.Text())
	}
	c.cmd.Wait()
	return rest
}

func TestSecondWriterIsRefusedByName(t *testing.T) {
	path := dbPath(t)
	c := startChild(t, path)
	_, err := Open(t.Context(), path, Options{})
	var locked *LockedError
	if !errors.Is(err, ErrLocked) || !errors.As(err, &locked) {
		t.Fatalf("%v", err)
	}
	host, _ := os.Hostname()
	if !strings.Contains(err.Error(), fmt.Sprintf("process %d on %s since ", c.cmd.Process.Pid, host)) {
		t.Errorf("the holder is not named: %v", err)
	}
	if _, err := openReader(t, path).Cohorts(t.Context()); err != nil {
		t.Errorf("a reader was refused: %v", err)
	}
	c.kill()
	openStore(t, path) // the lock died with its holder
}

func TestSecondHandleIsRefused(t *testing.T) {
	path := dbPath(t)
	openStore(t, path)
	before := folderNames(t, filepath.Dir(path))
	if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Errorf("%v", err)
	}
	if after := folderNames(t, filepath.Dir(path)); after != before {
		t.Errorf("before %s, after %s", before, after)
	}
}

func folderNames(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	return fmt.Sprint(entries)
}

// A writer is killed at several moments. Every attempt that it said was ended is
// there whole; at most the last one is not ended; the next writer goes on.
func TestKilledWriterLosesAtMostTheAttemptInFlight(t *testing.T) {
	path := dbPath(t)
	var said []int64
	note := func(line string) {
		var id int64
		if _, err := fmt.Sscanf(line, "ended %d", &id); err == nil {
			said = append(said, id)
		} else if strings.HasPrefix(line, "error") {
			t.Fatal(line)
		}
	}
	for _, after := range []int{0, 1, 3} {
		sub := path + strconv.Itoa(after)
		said = nil
		c := startChild(t, sub)
		for range after {
			note(c.next())
		}
		for _, line := range c.kill() {
			note(line)
		}
		views, err := openReader(t, sub).Cohorts(t.Context())
		must(t, err)
		ended := map[int64]bool{}
		open := 0
		for _, a := range views[0].Attempts {
			if !a.Ended {
				open++
				continue
			}
			ended[a.ID] = true
		}
		if open > 1 {
			t.Errorf("%d attempts without an end", open)
		}
		for _, id := range said {
			if !ended[id] {
				t.Errorf("attempt %d was lost", id)
			}
		}
		s := openStore(t, sub)
		for _, a := range views[0].Attempts {
			if a.Ended {
				if _, err := s.Candidate(t.Context(), a.Candidate); err != nil {
					t.Error(err)
				}
			}
		}
		if got := cohortOf(t, s, plan(60)); got != views[0].ID {
			t.Errorf("resume made cohort %d", got)
		}
		var check string
		must(t, s.db.QueryRow("PRAGMA integrity_check").Scan(&check))
		if check != "ok" {
			t.Error(check)
		}
	}
}
