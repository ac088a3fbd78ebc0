package scripted

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// card is a profile with round speeds.
func card(programs ...Program) Profile {
	return Profile{Model: "card", Speed: Speed{PrefillTPS: 1000, DecodeTPS: 100}, Programs: programs}
}

func program(turns ...Turn) Program { return Program{Name: "only", Turns: turns} }

// start serves a profile until the test ends.
func start(t *testing.T, p Profile) *Server {
	t.Helper()
	s, err := Serve(t.Context(), "127.0.0.1:0", p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

type reply struct {
	status int
	header http.Header
	body   []byte
}

func do(t *testing.T, method, url, body string, headers ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.Close { // the client takes this header away
		res.Header.Set("Connection", "close")
	}
	return reply{res.StatusCode, res.Header, b}
}

// ask posts a chat request of one user message with further fields.
func ask(t *testing.T, s *Server, task, fields string) reply {
	t.Helper()
	body := fmt.Sprintf(`{"messages":[{"role":"user","content":%q}]%s}`, task, fields)
	return do(t, "POST", s.URL()+"/v1/chat/completions", body)
}

// decoded is what the tests look at of a chunk or a whole answer.
type decoded struct {
	Choices []struct {
		FinishReason string `json:"finish_reason"`
		Delta        part   `json:"delta"`
		Message      part   `json:"message"`
	} `json:"choices"`
	ID      string `json:"id"`
	Created int64  `json:"created"`
	Usage   *struct {
		Completion int64 `json:"completion_tokens"`
		Prompt     int64 `json:"prompt_tokens"`
		Details    struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
	Timings   *clock `json:"timings"`
	Progress  *progress
	Simulated *struct {
		ElapsedMS float64 `json:"elapsed_ms"`
	} `json:"simulated"`
}

type part struct {
	Content   string `json:"content"`
	Reasoning string `json:"reasoning_content"`
	ToolCalls []struct {
		Index    int    `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type clock struct {
	CacheN     int64   `json:"cache_n"`
	PromptN    int64   `json:"prompt_n"`
	PromptMS   float64 `json:"prompt_ms"`
	N          int64   `json:"predicted_n"`
	MS         float64 `json:"predicted_ms"`
	PerTokenMS float64 `json:"predicted_per_token_ms"`
	PerSecond  float64 `json:"predicted_per_second"`
	DraftN     *int64  `json:"draft_n"`
	Accepted   *int64  `json:"draft_n_accepted"`
}

func decodeOne(t *testing.T, b []byte) decoded {
	t.Helper()
	var d decoded
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return d
}

// events splits a stream into the data of its events, [DONE] included.
func splitEvents(t *testing.T, body []byte) [][]byte {
	t.Helper()
	var out [][]byte
	for _, e := range bytes.Split(body, []byte("\n\n")) {
		if len(e) == 0 {
			continue
		}
		data, ok := bytes.CutPrefix(e, []byte("data: "))
		if !ok {
			t.Fatalf("no data line: %q", e)
		}
		out = append(out, data)
	}
	return out
}

// assembled is a stream put together.
type assembled struct {
	reasoning, text string
	names, args     []string
	ids             []string
	finish          string
	last            decoded   // the chunk before [DONE]
	chunks          []decoded // all
}

func assemble(t *testing.T, body []byte) assembled {
	t.Helper()
	var a assembled
	events := splitEvents(t, body)
	if len(events) == 0 || string(events[len(events)-1]) != "[DONE]" {
		t.Fatalf("stream without end mark: %s", body)
	}
	for _, e := range events[:len(events)-1] {
		d := decodeOne(t, e)
		a.chunks = append(a.chunks, d)
		a.last = d
		if len(d.Choices) == 0 {
			continue
		}
		c := d.Choices[0]
		a.reasoning += c.Delta.Reasoning
		a.text += c.Delta.Content
		a.finish += c.FinishReason
		for _, k := range c.Delta.ToolCalls {
			if k.Index == len(a.args) {
				a.args, a.names, a.ids = append(a.args, ""), append(a.names, k.Function.Name), append(a.ids, k.ID)
			}
			a.args[k.Index] += k.Function.Arguments
		}
	}
	return a
}

// recording reads a recorded answer of llama.cpp: status line, headers, body.
func recording(t *testing.T, name string) reply {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	head, body, ok := bytes.Cut(b, []byte("\r\n\r\n"))
	if !ok {
		t.Fatalf("%s has no headers", name)
	}
	lines := strings.Split(string(head), "\r\n")
	r := reply{header: http.Header{}, body: body}
	if _, err := fmt.Sscanf(lines[0], "HTTP/1.1 %d", &r.status); err != nil {
		t.Fatal(err)
	}
	for _, l := range lines[1:] {
		k, v, _ := strings.Cut(l, ":")
		r.header.Add(k, strings.TrimSpace(v))
	}
	return r
}

// skeleton returns JSON with its keys in order and its values replaced by their
// types. Arrays keep one element of each skeleton.
func skeleton(t *testing.T, data []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var value func() string
	value = func() string {
		tok, err := d.Token()
		if err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		switch v := tok.(type) {
		case json.Delim:
			var parts []string
			for d.More() {
				if v == '[' {
					if s := value(); !slices.Contains(parts, s) {
						parts = append(parts, s)
					}
					continue
				}
				key, err := d.Token()
				if err != nil {
					t.Fatal(err)
				}
				inner := value()
				if key == "simulated" { // ours alone
					continue
				}
				parts = append(parts, fmt.Sprint(key, ":", inner))
			}
			if _, err := d.Token(); err != nil {
				t.Fatal(err)
			}
			return v.String() + strings.Join(parts, " ")
		case string:
			return "s"
		case json.Number:
			if strings.ContainsAny(v.String(), ".e") {
				return "f"
			}
			return "i"
		case nil:
			return "null"
		}
		return fmt.Sprintf("%T", tok)
	}
	return value()
}
