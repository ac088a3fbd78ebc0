package grader

import (
	"bytes"
	"fmt"

	"assay/internal/bench"
)

// The parties of a frame as they are recorded.
const (
	fromJudge     = "judge"
	fromCandidate = "candidate"
	fromHost      = "host"
)

// recorder keeps the frames of a grading up to a total size. A nil recorder keeps
// nothing.
type recorder struct {
	limit  int
	size   int
	seen   int
	cut    bool
	frames []bench.JudgeFrame
}

// add keeps a frame. Once one did not fit, none after it is kept: a gap in the
// middle would read as if nothing had been said there.
func (r *recorder) add(from string, b []byte) {
	if r == nil {
		return
	}
	r.seen++
	if r.cut || r.size+len(b) > r.limit {
		r.cut = true
		return
	}
	r.size += len(b)
	r.frames = append(r.frames, bench.JudgeFrame{Seq: len(r.frames), From: from, Bytes: bytes.Clone(b)})
}

// result returns what was kept; where something was not, the last frame says so.
func (r *recorder) result() []bench.JudgeFrame {
	if !r.cut {
		return r.frames
	}
	note := fmt.Sprintf(`{"op":"frames_cut","kept":%d,"seen":%d,"limit_bytes":%d}`, len(r.frames), r.seen, r.limit)
	return append(r.frames, bench.JudgeFrame{Seq: len(r.frames), From: fromHost, Bytes: []byte(note)})
}
