package bench

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNewTree(t *testing.T) {
	tests := []struct {
		name  string
		paths []string
		fault string // empty: accepted
	}{
		{"empty", nil, ""},
		{"sorted by bytes", []string{"b", "a/c", "a", "A"}, `"a/c" lies below the file "a"`},
		{"folders", []string{"a/b", "a/c/d", "z"}, ""},
		{"a sibling with a sign before the slash", []string{"a/b", "a-b", "a.b"}, ""},
		{"twice", []string{"a", "b", "a"}, "occurs twice"},
		{"absolute", []string{"/a"}, "not relative and clean"},
		{"parent", []string{"a/../b"}, "not relative and clean"},
		{"dot", []string{"./a"}, "not relative and clean"},
		{"double slash", []string{"a//b"}, "not relative and clean"},
		{"trailing slash", []string{"a/"}, "not relative and clean"},
		{"nothing", []string{""}, "empty path"},
		{"NUL", []string{"a\x00b"}, "NUL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var files []File
			for _, p := range tt.paths {
				files = append(files, File{Path: p})
			}
			tree, err := NewTree(files)
			if tt.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fault) {
					t.Fatalf("error %v, want %q", err, tt.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range tt.paths {
				if _, ok := tree.Get(p); !ok {
					t.Errorf("%q is not found", p)
				}
			}
			if _, ok := tree.Get("not there"); ok {
				t.Error("a path that is not there is found")
			}
		})
	}
}

// The digest is the identity of candidates for ever: its text must not change.
func TestTreeDigest(t *testing.T) {
	tree, err := NewTree([]File{{Path: "b.py", Data: []byte("x\n")}, {Path: "a\n.sh", Exec: true, Data: nil}})
	if err != nil {
		t.Fatal(err)
	}
	// sha256 of "" and of "x\n", as sha256sum prints them.
	want := `e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 x "a\n.sh"
73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac - "b.py"
`
	if diff := cmp.Diff(want, string(tree.Manifest())); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	other, err := NewTree([]File{{Path: "b.py", Exec: true, Data: []byte("x\n")}, {Path: "a\n.sh", Exec: true}})
	if err != nil {
		t.Fatal(err)
	}
	if tree.Digest() == other.Digest() {
		t.Error("the x bit does not change the digest")
	}
}

func TestSamplerSeed(t *testing.T) {
	seen := map[int64]Cell{}
	for seed := 1; seed <= 200; seed++ {
		for repeat := 1; repeat <= 20; repeat++ {
			s := SamplerSeed(seed, repeat)
			if s < 0 || s >= 1<<31 {
				t.Fatalf("seed %d repeat %d: %d is out of range", seed, repeat, s)
			}
			if c, ok := seen[s]; ok {
				t.Errorf("seed %d repeat %d draws like seed %d repeat %d", seed, repeat, c.Seed, c.Repeat)
			}
			seen[s] = Cell{Seed: seed, Repeat: repeat}
		}
	}
	if a, b := SamplerSeed(1, 1), SamplerSeed(1, 1); a != b {
		t.Errorf("%d, then %d", a, b)
	}
}

func TestDelivered(t *testing.T) {
	passed := &GradingRow{Functional: true}
	tests := []struct {
		name                  string
		row                   AttemptRow
		functional, delivered bool
	}{
		{"submitted", AttemptRow{Counts: true, Stop: Stop{Reason: StopSubmitted}, Grading: passed}, true, true},
		{"final message", AttemptRow{Counts: true, Stop: Stop{Reason: StopFinalMessage}, Grading: passed}, true, true},
		{"out of turns", AttemptRow{Counts: true, Stop: Stop{Reason: StopTurnLimit}, Grading: passed}, true, false},
		{"protected file changed", AttemptRow{Counts: true, Stop: Stop{Reason: StopSubmitted}, Grading: passed, ProtectedTouched: []string{"x"}}, true, false},
		{"export refused", AttemptRow{Counts: true, Stop: Stop{Reason: StopSubmitted}, Grading: passed, Rejected: "2001 files"}, false, false},
		{"not graded", AttemptRow{Counts: true, Stop: Stop{Reason: StopSubmitted}}, false, false},
		{"does not count", AttemptRow{Stop: Stop{Reason: StopEngineLost}, Grading: passed}, false, false},
	}
	for _, tt := range tests {
		if f, d := tt.row.Functional(), tt.row.Delivered(); f != tt.functional || d != tt.delivered {
			t.Errorf("%s: functional %v, delivered %v; want %v, %v", tt.name, f, d, tt.functional, tt.delivered)
		}
	}
}

func TestGradingIsFunctionalOnlyWhenWhole(t *testing.T) {
	ok := CheckResult{Status: CheckPassed}
	tests := []struct {
		name string
		g    Grading
		want bool
	}{
		{"all passed", Grading{Complete: true, Checks: []CheckResult{ok, ok}}, true},
		{"one failed", Grading{Complete: true, Checks: []CheckResult{ok, {Status: CheckFailed}}}, false},
		{"one not run", Grading{Complete: true, Checks: []CheckResult{ok, {Status: CheckNotRun}}}, false},
		{"zero checks", Grading{Complete: true}, false},
		{"no end frame", Grading{Checks: []CheckResult{ok}}, false},
		{"our fault", Grading{Complete: true, Checks: []CheckResult{ok}, Fault: "box lost"}, false},
	}
	for _, tt := range tests {
		if got := tt.g.Functional(); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestStopReasons(t *testing.T) {
	all := StopReasons()
	invalid := 0
	for i, r := range all {
		if r.Invalid() {
			invalid++
		} else if invalid > 0 {
			t.Errorf("%s stands at %d, after invalid ones", r, i)
		}
		if r.Invalid() && r.HandedOver() {
			t.Errorf("%s is both invalid and handed over", r)
		}
	}
	if len(all) != 18 || invalid != 6 {
		t.Errorf("%d reasons, %d of them invalid; want 18 and 6", len(all), invalid)
	}
}

func TestNativeDecode(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	ms := func(v float64) *float64 { return &v }
	tests := []struct {
		name string
		t    *Timings
		want bool
	}{
		{"no timings", nil, false},
		{"two tokens", &Timings{PredictedN: n(2), PredictedMS: ms(1)}, true},
		{"one token", &Timings{PredictedN: n(1), PredictedMS: ms(0.001)}, false},
		{"no time", &Timings{PredictedN: n(5)}, false},
		{"zero time", &Timings{PredictedN: n(5), PredictedMS: ms(0)}, false},
		{"no count", &Timings{PredictedMS: ms(5)}, false},
	}
	for _, tt := range tests {
		if got := (Response{Timings: tt.t}).NativeDecode(); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
