package main

import (
	"fmt"
	"os"
	"testing"

	"assay/internal/sandbox/bwrap"
	"assay/internal/sandbox/docker"
	"assay/internal/sandbox/kinds"
	"assay/internal/sandbox/rootfs"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	if code, done := kinds.Hidden(os.Args[1:], os.Stdin); done { // this binary in or beside a box
		os.Exit(code)
	}
	testscript.Main(m, map[string]func(){
		"assay": func() { os.Exit(run(processState())) },
	})
}

// TestScripts runs the stories in testdata: one for each thing that a user does.
func TestScripts(t *testing.T) {
	cache := rootfs.DefaultCache(os.Getenv)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition: func(name string) (bool, error) {
			if name == "full" {
				return os.Getenv("ASSAY_FULL") != "", nil
			}
			if name != docker.Kind && name != bwrap.Kind {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			f, err := kinds.Open(t.Context(), name, os.Getenv, func(line string) { t.Log(line) })
			if err != nil {
				t.Logf("SKIP: scripts that need %s boxes: %v", name, err)
				return false, nil
			}
			err = f.Close()
			return true, err
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("ASSAY_CACHE", cache)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":   status,
			"serve":    serve,
			"query":    query,
			"jsonis":   jsonIs,
			"signalat": signalAt,
			"unserve":  unserve,
			"alter":    alter,
			"lock":     lock,
			"docker":   faultyDocker,
			"boxes":    boxes,
		},
	})
}
