package sandbox

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"assay/internal/bench"
)

func TestDefaults(t *testing.T) {
	t.Parallel()
	for _, p := range []Purpose{"", PurposeAgent, PurposeCandidate, PurposeJudge} {
		o, err := Options{Purpose: p}.WithDefaults()
		if err != nil {
			t.Fatal(err)
		}
		if o.Purpose == "" || o.DiskBytes <= 0 || o.TmpBytes <= 0 || o.Inodes <= 0 || o.Processes <= 0 || o.MemoryBytes <= 0 || o.CPUs <= 0 || o.Deadline <= 0 {
			t.Errorf("purpose %q leaves something without a bound: %+v", p, o)
		}
	}
	o, err := Options{Purpose: PurposeAgent, DiskBytes: 1, Deadline: time.Second}.WithDefaults()
	if err != nil || o.DiskBytes != 1 || o.Deadline != time.Second {
		t.Errorf("what was asked for is not kept: %+v %v", o, err)
	}
	for _, bad := range []Options{{Purpose: "other"}, {DiskBytes: -1}, {Processes: -1}, {CPUs: -0.5}, {CPUs: math.NaN()}, {Deadline: -1}} {
		if _, err := bad.WithDefaults(); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	lost := &LostError{Why: "its stream ended", Diagnostic: "bwrap: no", Err: io.ErrUnexpectedEOF}
	if !errors.Is(lost, bench.ErrBoxLost) || !errors.Is(lost, io.ErrUnexpectedEOF) || !errors.Is(&LostError{}, bench.ErrBoxLost) {
		t.Error("a lost box is not told as one")
	}
	for err, parts := range map[error][]string{
		lost: {"box lost", "stream ended", "bwrap: no"},
		&TooLargeError{Path: "a", Size: 3, Max: 2}: {`"a"`, "3 bytes", "2"},
		&EscapeError{Path: "../a"}:                 {`"../a"`, "workspace"},
		&NotRegularError{Path: "a", Kind: "dir"}:   {`"a"`, "dir"},
		&UnavailableError{Problem: "p", Cure: "c"}: {"p", "c"},
	} {
		for _, p := range parts {
			if !strings.Contains(err.Error(), p) {
				t.Errorf("%q does not say %q", err, p)
			}
		}
	}
}
