package config

import (
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func FuzzLoad(f *testing.F) {
	f.Add([]byte("schema = 1\n" + urlArm))
	f.Add([]byte("schema = 1\n[server]\ncommand=\"s {model} {port} {spec}\"\nmtp=1\n[[arm]]\nmodel=\"x\"\nmtp=[0,1]\n[arm.sampling]\ntop_p=0.5\n"))
	f.Add([]byte("schema = 1\ncoding.limits = {max_turns = 3, max_seconds = 4.5e2}\narm = [{name='a', url='http://h', extra_body={a=[1,{b=2}]}}]\n"))
	f.Add([]byte("[a]\n[a.b]\n[[a.c]]\n[a]\n"))
	f.Add([]byte("schema = 0x1\n[rig.\"\"]\n[rig.a]\n[compare]\nvaries=[[]]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		given := string(data)
		s, err := Load("study.toml", data, known())
		if string(data) != given {
			t.Fatal("Load changed its input")
		}
		if err != nil {
			var faults Faults
			if !errors.As(err, &faults) || len(faults) == 0 {
				t.Fatalf("error %T without faults", err)
			}
			last := 0
			for _, fault := range faults {
				if fault.Line < 1 || fault.Line < last || fault.Message == "" || !utf8.ValidString(fault.Error()) {
					t.Fatalf("fault %+v", fault)
				}
				last = fault.Line
			}
			return
		}
		sound(t, s)
		again, err := Load("study.toml", s.Text, known())
		if err != nil {
			t.Fatalf("the text of a sound study has faults: %v", err)
		}
		if diff := cmp.Diff(s, again, cmp.AllowUnexported(Study{})); diff != "" {
			t.Fatal(diff)
		}
	})
}

// sound fails the test unless a study keeps what its type promises.
func sound(t *testing.T, s Study) {
	t.Helper()
	names := map[string]bool{}
	for _, a := range s.Arms {
		if a.Name == "" || names[a.Name] || (a.URL == "") == (a.Command == "") || a.Parallel < 1 || a.Replay == "" {
			t.Fatalf("arm %+v", a)
		}
		names[a.Name] = true
	}
	seeds := map[int]bool{}
	for _, n := range s.Seeds {
		if n < 1 || seeds[n] {
			t.Fatalf("seeds %v", s.Seeds)
		}
		seeds[n] = true
	}
	l := s.Limits
	if len(s.Arms) == 0 || len(s.Tasks) == 0 || len(s.Seeds) == 0 || s.Repeats < 1 || s.Name == "" || !names[s.Compare.Baseline] ||
		l.MaxOutputTokens < 1 || l.MaxSequenceTokens < 0 || l.MaxTurns < 1 || l.MaxTime <= 0 || l.CommandTime <= 0 ||
		l.ToolOutputBytes < 1 || l.IdleTime <= 0 || l.MaxMalformedCalls < 1 || l.InvalidRetries < 0 || len(s.Explain()) == 0 {
		t.Fatalf("study %+v", s)
	}
}
