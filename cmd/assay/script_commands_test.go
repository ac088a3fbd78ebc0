package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"assay/internal/engine/scripted"
	"assay/internal/sandbox/bwrap"
	"assay/results"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite"
)

// status runs a program and asserts its exit status: status CODE PROGRAM ARG...
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE PROGRAM [ARG]...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := err.(*exec.ExitError); ok {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%s: %v", args[1], err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// serve starts a server that answers everything in one way, or two arms of the demo
// with two seeds ("demo"), or one with one ("one"), and writes a study for it: serve KIND STUDY [SANDBOX]. Boxes are bwrap ones
// where nothing else is said.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: serve KIND STUDY [SANDBOX]")
	}
	sandbox := bwrap.Kind
	if len(args) > 2 {
		sandbox = args[2]
	}
	extra := ""
	var handler http.HandlerFunc
	switch args[0] {
	case "401", "404", "500":
		code, err := strconv.Atoi(args[0])
		ts.Check(err)
		handler = func(w http.ResponseWriter, _ *http.Request) { http.Error(w, `{"error":{"message":"no"}}`, code) }
	case "demo":
		serveDemo(ts, args[1], sandbox, 2)
		return
	case "one":
		serveDemo(ts, args[1], sandbox, 1)
		return
	case "other", "unexpected":
		extra = "model = \"my-model\"\n"
		if args[0] == "unexpected" {
			extra = "expect = { model = \"other-model\" }\n"
		}
		handler = func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/models") {
				fmt.Fprint(w, `{"object":"list","data":[{"id":"tiny-stories","object":"model"}]}`)
				return
			}
			http.NotFound(w, r)
		}
	default:
		ts.Fatalf("serve: unknown kind %q", args[0])
	}
	server := httptest.NewServer(http.HandlerFunc(handler))
	ts.Defer(server.Close)
	study := fmt.Sprintf("schema = 1\n[[arm]]\nname = \"a\"\nurl = %q\n%s", server.URL, extra)
	ts.Check(writeFile(ts.MkAbs(args[1]), study))
}

// serveDemo serves the first two of the demo's arms for the seeds 1 and 2.
func serveDemo(ts *testscript.TestScript, study, kind string, size int) {
	profiles, err := demoProfiles()
	ts.Check(err)
	text := strings.Replace(fmt.Sprintf(demoStudy, kind), "seeds = [1, 2, 3]", fmt.Sprintf("seeds = %d", size), 1)
	for _, p := range profiles[:size] {
		server, err := scripted.Serve(context.Background(), "127.0.0.1:0", p)
		ts.Check(err)
		ts.Defer(func() {
			if err := server.Close(context.Background()); err != nil {
				ts.Logf("scripted engine: %v", err)
			}
		})
		text += fmt.Sprintf("\n[[arm]]\nname = %q\nurl = %q\n", p.Model, server.URL())
	}
	ts.Check(writeFile(ts.MkAbs(study), text))
}

// unserve lets every address in a study point to where nobody listens: unserve STUDY.
func unserve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: unserve STUDY")
	}
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	ts.Check(writeFile(ts.MkAbs(args[0]), address.ReplaceAllString(ts.ReadFile(args[0]), "http://127.0.0.1:1")))
}

// signalAt starts 'assay run STUDY --json', sends it a signal at the Nth event of
// a kind (and SIGTERM for a name that ends in 2), and asserts how it ends: signalat
// SIGNAL KIND N STATUS STUDY. A run that is killed has status -1.
func signalAt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: signalat SIGNAL KIND N STATUS STUDY")
	}
	signals := map[string]os.Signal{"INT": os.Interrupt, "KILL": os.Kill, "TERM": syscall.SIGTERM}
	nth, err := strconv.Atoi(args[2])
	ts.Check(err)
	want, err := strconv.Atoi(args[3])
	ts.Check(err)
	program, err := os.Executable()
	ts.Check(err)
	cmd := &exec.Cmd{Path: program, Args: []string{"assay", "run", args[4], "--json"}, Dir: ts.MkAbs("."),
		Env: append(os.Environ(), "ASSAY_CACHE="+ts.Getenv("ASSAY_CACHE")), Stderr: ts.Stderr()}
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	seen := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var e jsonEvent
		ts.Check(json.Unmarshal(lines.Bytes(), &e))
		if string(e.Event) != args[1] {
			continue
		}
		if seen++; seen != nth {
			continue
		}
		ts.Check(cmd.Process.Signal(signals[strings.TrimSuffix(args[0], "2")]))
		if strings.HasSuffix(args[0], "2") {
			ts.Check(cmd.Process.Signal(syscall.SIGTERM)) // two equal signals might become one
		}
	}
	_ = cmd.Wait() // the status is what is asserted
	if seen < nth {
		ts.Fatalf("saw %d events %s, wanted %d", seen, args[1], nth)
	}
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// lock opens a database for writing for the rest of the script: lock DB.
func lock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: lock DB")
	}
	store, err := results.Open(context.Background(), ts.MkAbs(args[0]), results.Options{Version: "test"})
	ts.Check(err)
	ts.Defer(func() { ts.Check(store.Close()) })
}

// alter runs a SQL statement on a database: alter DB SQL.
func alter(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: alter DB SQL")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec(args[1])
	ts.Check(err)
}

// query asserts the one value of a SQL query: query DB SQL WANT.
func query(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: query DB SQL WANT")
	}
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(args[0])+"?mode=ro")
	ts.Check(err)
	defer db.Close()
	var got string
	ts.Check(db.QueryRow(args[1]).Scan(&got))
	if (got == args[2]) == neg {
		ts.Fatalf("%s\n= %s, want %s (negated: %v)", args[1], got, args[2], neg)
	}
}

// jsonIs asserts a value in a JSON file by its path: jsonis FILE a.b.0.c WANT.
// WANT may be "sum/sum" style arithmetic of other paths: =a.b/a.c
func jsonIs(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: jsonis FILE PATH WANT")
	}
	var doc any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &doc))
	got := at(ts, doc, args[1])
	if quotient, ok := strings.CutPrefix(args[2], "="); ok {
		a, b, ok := strings.Cut(quotient, "/")
		if !ok {
			ts.Fatalf("want =PATH/PATH")
		}
		want := at(ts, doc, a).(float64) / at(ts, doc, b).(float64)
		if ok := math.Abs(got.(float64)-want) < 1e-9*want; ok == neg {
			ts.Fatalf("%s = %v, %s = %v (negated: %v)", args[1], got, quotient, want, neg)
		}
		return
	}
	if text := fmt.Sprint(got); (text == args[2]) == neg {
		ts.Fatalf("%s = %s, want %s (negated: %v)", args[1], text, args[2], neg)
	}
}

func at(ts *testscript.TestScript, doc any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		switch v := doc.(type) {
		case map[string]any:
			next, ok := v[key]
			if !ok {
				ts.Fatalf("%s: no key %q", path, key)
			}
			doc = next
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(v) {
				ts.Fatalf("%s: no element %q", path, key)
			}
			doc = v[i]
		default:
			ts.Fatalf("%s: %q is below a value", path, key)
		}
	}
	return doc
}

func writeFile(path, content string) error { return os.WriteFile(path, []byte(content), 0o644) }
