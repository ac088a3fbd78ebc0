package main

import (
	"fmt"
	"os"
	"testing"

	"assay/internal/sandbox/rootfs"
	"assay/internal/sandbox/supervisor"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == supervisor.Arg { // this binary as PID 1 of a box
		os.Exit(supervisor.Main(os.Args[2:]))
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
			if name != "bwrap" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			_, err := openBoxes(t.Context(), processState(), func(line string) { t.Log(line) })
			if err != nil {
				t.Logf("SKIP: scripts that need a sandbox: %v", err)
			}
			return err == nil, nil
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
		},
	})
}
