package wire

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/internal/bench"
	"assay/internal/wire/wiretest"
)

// testdata/golden.tsv was computed from the recordings by a program in another
// language that shares no code with this package.

func TestRecordings(t *testing.T) {
	recordings := load(t)
	want := golden(t)
	seen := 0
	for _, r := range recordings {
		row, ok := want[r.Name]
		if !ok {
			if !notChat.MatchString(r.Name) {
				t.Errorf("%s: no golden row", r.Name)
			}
			continue
		}
		seen++
		t.Run(r.Name, func(t *testing.T) {
			resp, err := play(r)
			got := describe(r, resp, err)
			if diff := cmp.Diff(row, got); diff != "" {
				t.Errorf("golden (-) against parsed (+):\n%s\nerror: %v", diff, err)
			}
		})
	}
	if seen != len(want) || seen < 200 {
		t.Errorf("%d recordings checked, %d golden rows", seen, len(want))
	}
}

var notChat = regexp.MustCompile(`/(props|v1-models|health-|models-)`)

// The order of marks that every complete stream must keep.
func TestMarksAreOrdered(t *testing.T) {
	for _, r := range load(t) {
		if len(r.Reads) == 0 {
			continue
		}
		resp, err := play(r)
		if err != nil {
			t.Errorf("%s: %v", r.Name, err)
			continue
		}
		m := resp.Marks
		last := time.Duration(0)
		for name, mark := range map[int]*time.Duration{0: m.FirstByte, 1: m.FirstToken, 2: m.LastToken, 3: m.End} {
			if mark == nil {
				t.Fatalf("%s: mark %d missing", r.Name, name)
			}
		}
		for _, mark := range []*time.Duration{m.FirstByte, m.FirstToken, m.FirstAnswer, m.LastToken, m.End} {
			if *mark < last {
				t.Errorf("%s: marks out of order: %v after %v", r.Name, *mark, last)
			}
			last = *mark
		}
	}
}

// Cutting a recording into single bytes changes nothing but the marks.
func TestRecordingsByteByByte(t *testing.T) {
	for _, r := range load(t) {
		if r.Status != 200 || len(r.Body) > 100_000 {
			continue
		}
		whole, wholeErr := feed(NewParser(Limits{}), [][]byte{r.Body})
		var single [][]byte
		for i := range r.Body {
			single = append(single, r.Body[i:i+1])
		}
		split, splitErr := feed(NewParser(Limits{}), single)
		if diff := cmp.Diff(fmt.Sprint(wholeErr), fmt.Sprint(splitErr)); diff != "" {
			t.Errorf("%s: error differs:\n%s", r.Name, diff)
		}
		if diff := cmp.Diff(whole, split); diff != "" {
			t.Errorf("%s: response differs:\n%s", r.Name, diff)
		}
	}
}

func load(t testing.TB) []wiretest.Recording {
	t.Helper()
	r, err := wiretest.Load("testdata/llamacpp")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func play(r wiretest.Recording) (bench.Response, error) {
	if r.Status != 200 {
		return bench.Response{}, StatusError(r.Status, r.Header.Get("Retry-After"), time.Time{}, r.Body)
	}
	p := NewParser(Limits{})
	last := time.Duration(0)
	reads := r.Reads
	if len(reads) == 0 {
		reads = []wiretest.Read{{Data: r.Body}}
	}
	for _, read := range reads {
		_ = p.Feed(read.Data, read.At) // End returns the same error
		last = read.At
	}
	return p.End(last)
}

// feed plays chunks at time zero, so that marks cannot differ.
func feed(p *Parser, chunks [][]byte) (bench.Response, error) {
	for _, c := range chunks {
		_ = p.Feed(c, 0)
	}
	return p.End(0)
}

func golden(t *testing.T) map[string]map[string]string {
	t.Helper()
	data, err := os.ReadFile("testdata/golden.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	head := strings.Split(lines[0], "\t")
	out := map[string]map[string]string{}
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, v := range strings.Split(line, "\t") {
			row[head[i]] = v
		}
		out[row["name"]] = row
	}
	return out
}

var shapes = map[string]string{
	"llama.cpp native /completion": "native",
	"/v1/completions":              "v1-completions",
	"Anthropic messages":           "anthropic",
	"Responses API":                "responses",
}

func describe(r wiretest.Recording, resp bench.Response, err error) map[string]string {
	row := map[string]string{
		"name": r.Name, "status": strconv.Itoa(r.Status), "outcome": "ok",
		"streamed": strconv.FormatBool(resp.Streamed), "complete": strconv.FormatBool(resp.Complete),
	}
	var e *bench.EngineError
	if errors.As(err, &e) {
		row["outcome"] = string(e.Fault)
		for long, short := range shapes {
			if e.Fault == bench.FaultProtocol && strings.Contains(e.Message, "this is ") && strings.Contains(e.Message, long) {
				row["outcome"] = "refused:" + short
			}
		}
	}
	var calls []string
	for _, c := range resp.ToolCalls {
		calls = append(calls, c.Name+"\x01"+c.Arguments)
	}
	tm := bench.Timings{}
	if resp.Timings != nil {
		tm = *resp.Timings
	}
	set := func(k, v string) {
		if v == "" {
			v = "-"
		}
		row[k] = v
	}
	set("id", resp.ID)
	set("model", resp.Model)
	set("fingerprint", resp.Fingerprint)
	set("text", short(resp.Text))
	set("reasoning", short(resp.Reasoning))
	set("field", resp.ReasoningField)
	set("calls_sha", short(strings.Join(calls, "\x00")))
	set("finish_raw", resp.FinishRaw)
	set("prompt", num(resp.Usage.PromptTokens))
	set("completion", num(resp.Usage.CompletionTokens))
	set("cached", num(resp.Usage.CachedTokens))
	set("cache_n", num(tm.CacheN))
	set("prompt_n", num(tm.PromptN))
	set("prompt_ms", num(tm.PromptMS))
	set("predicted_n", num(tm.PredictedN))
	set("predicted_ms", num(tm.PredictedMS))
	set("draft_n", num(tm.DraftN))
	set("draft_acc", num(tm.DraftNAccepted))
	for _, k := range []string{"calls", "finish", "events", "first_byte", "first_token", "first_answer", "last_token"} {
		set(k, "")
	}
	if r.Status == 200 {
		set("calls", strconv.Itoa(len(resp.ToolCalls)))
		set("finish", string(resp.Finish))
		set("events", strconv.Itoa(resp.TokenEvents))
	} else if e != nil {
		// Counts of the error stand in the same columns.
		set("prompt", num(e.PromptTokens))
		set("cache_n", num(e.ContextSize))
	}
	if len(r.Reads) > 0 {
		set("first_byte", ms(resp.Marks.FirstByte))
		set("first_token", ms(resp.Marks.FirstToken))
		set("first_answer", ms(resp.Marks.FirstAnswer))
		set("last_token", ms(resp.Marks.LastToken))
	}
	return row
}

func short(s string) string {
	if s == "" {
		return ""
	}
	return bench.Digest([]byte(s))[:16]
}

func num[T int64 | float64](v *T) string {
	if v == nil {
		return ""
	}
	return trim(strconv.FormatFloat(float64(*v), 'f', 6, 64))
}

func ms(d *time.Duration) string {
	if d == nil {
		return ""
	}
	return trim(strconv.FormatFloat(float64(*d)/float64(time.Millisecond), 'f', 6, 64))
}

func trim(s string) string {
	return string(bytes.TrimSuffix(bytes.TrimRight([]byte(s), "0"), []byte(".")))
}
