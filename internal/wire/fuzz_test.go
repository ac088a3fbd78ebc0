package wire

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/internal/bench"
)

// FuzzParser states what holds for any bytes in any pieces: no panic, the pieces
// change nothing, and a stream is complete only if its end mark came.
func FuzzParser(f *testing.F) {
	for _, r := range load(f) {
		if r.Status == 200 && len(r.Body) < 20_000 {
			f.Add(r.Body, uint8(7))
		}
	}
	for _, s := range []string{
		"", "\xef\xbb\xbf", "data: [DONE]", "data: [DONE]\r\n\r\n", ":\n\n", "data\n\n", "data: null\n\n", "{}", "[", "null",
		`data: {"choices":[{"index":0,"delta":{"content":"<think>a</think>b"}}]}` + "\n\ndata: [DONE]\n\n",
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":-1,"function":{"arguments":{}}}]}}]}` + "\n\n",
		`data: {"choices":[],"simulated":{"elapsed_ms":1e300},"timings":{}}` + "\n\n",
		"data: {\ndata: \"choices\":[]}\n\n",
	} {
		f.Add([]byte(s), uint8(1))
	}
	f.Fuzz(func(t *testing.T, body []byte, step uint8) {
		limits := Limits{EventBytes: 4096, DocumentBytes: 8192, ToolCalls: 8}
		whole, wholeErr := feed(NewParser(limits), [][]byte{body})
		var pieces [][]byte
		for rest, n := body, 1; len(rest) > 0; n = n*3%(int(step)+1) + 1 {
			k := min(n, len(rest))
			pieces = append(pieces, rest[:k])
			rest = rest[k:]
		}
		split, splitErr := feed(NewParser(limits), pieces)
		if diff := cmp.Diff(whole, split); diff != "" || fmt.Sprint(wholeErr) != fmt.Sprint(splitErr) {
			t.Errorf("pieces change the answer: %v, %v\n%s", wholeErr, splitErr, diff)
		}
		plain := NewParser(limits)
		plain.chat.last.off = true
		slow, slowErr := feed(plain, [][]byte{body})
		if diff := cmp.Diff(slow, whole); diff != "" || fmt.Sprint(slowErr) != fmt.Sprint(wholeErr) {
			t.Errorf("the short way reads otherwise: %v, %v\n%s", slowErr, wholeErr, diff)
		}
		if whole.Complete != (wholeErr == nil) {
			t.Errorf("complete %v with error %v", whole.Complete, wholeErr)
		}
		if whole.Complete && whole.Streamed && !bytes.Contains(body, []byte("[DONE]")) {
			t.Error("complete without end mark")
		}
		if r := whole; r.TokenEvents > 0 && (r.Marks.FirstToken == nil || r.Marks.LastToken == nil) {
			t.Error("tokens without marks")
		}
	})
}

// FuzzStatusError: any status and body make one bounded error of a known kind.
func FuzzStatusError(f *testing.F) {
	for _, r := range load(f) {
		if r.Status != 200 {
			f.Add(r.Status, "", r.Body)
		}
	}
	f.Add(429, "Fri, 02 Jan 2026 03:05:05 GMT", []byte(`{"error":null}`))
	f.Add(503, "9223372036854775807", []byte(`{"detail":{}}`))
	f.Fuzz(func(t *testing.T, status int, retry string, body []byte) {
		e := StatusError(status, retry, time.Unix(0, 0), body)
		if e.Fault == "" || e.RetryAfter < 0 || len(e.Message) > 3*messageBytes || e.Message == "" && len(bytes.TrimSpace(body)) == 0 {
			t.Errorf("%+v", e)
		}
		if (e.PromptTokens != nil || e.ContextSize != nil) && e.Fault != bench.FaultContextExceeded {
			t.Errorf("counts on %s", e.Fault)
		}
	})
}
