package wire

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"assay/internal/bench"
)

func TestStatusError(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		name    string
		status  int
		retry   string
		body    string
		fault   bench.EngineFault
		message string
		after   time.Duration
	}{
		{"object", 400, "", `{"error":{"code":400,"message":"bad field","type":"invalid_request_error"}}`, bench.FaultRejected, "bad field", 0},
		{"text", 500, "", `{"error":"model runner stopped"}`, bench.FaultServer, "model runner stopped", 0},
		{"flat", 400, "", `{"object":"error","message":"This model's maximum context length is 8 tokens.","type":"BadRequestError","code":400}`, bench.FaultContextExceeded, "This model's maximum", 0},
		{"detail", 404, "", `{"detail":"Not Found"}`, bench.FaultNotFound, "Not Found", 0},
		{"detail list", 422, "", `{"detail":[{"msg":"field required"}]}`, bench.FaultRejected, "field required", 0},
		{"HTML", 502, "", "<html>\n  <b>Bad Gateway</b>", bench.FaultServer, "<html> <b>Bad Gateway</b>", 0},
		{"empty", 500, "", "", bench.FaultServer, "no body", 0},
		{"word as code", 400, "", `{"error":{"message":"too long","code":"context_length_exceeded"}}`, bench.FaultContextExceeded, "too long", 0},
		{"context under 500", 500, "", `{"error":{"message":"the request exceeds the available context size. try increasing it","type":"server_error"}}`, bench.FaultContextExceeded, "the request", 0},
		{"out of memory that speaks of context length", 500, "", `{"error":{"message":"CUDA out of memory while growing context length buffer"}}`, bench.FaultServer, "CUDA", 0},
		{"prompt too long", 413, "", `{"type":"error","error":{"type":"request_too_large","message":"prompt is too long: 210000 tokens"}}`, bench.FaultContextExceeded, "prompt is too long", 0},
		{"unparsable arguments", 500, "", `{"error":{"message":"Failed to parse tool call arguments as JSON"}}`, bench.FaultUnparsable, "Failed to parse", 0},
		{"unparsable", 500, "", `{"error":{"message":"Failed to parse input at pos 3: <tool"}}`, bench.FaultUnparsable, "Failed to parse", 0},
		{"unknown model by a router", 400, "", `{"error":{"code":400,"message":"model 'nope' not found"}}`, bench.FaultNotFound, "nope", 0},
		{"unauthorised speaks of context length", 401, "", `{"error":{"message":"context length"}}`, bench.FaultUnauthorised, "", 0},
		{"rate limit in seconds", 429, "65", `{}`, bench.FaultRateLimited, "", 65 * time.Second},
		{"rate limit as a date", 429, "Fri, 02 Jan 2026 03:05:05 GMT", ``, bench.FaultRateLimited, "", time.Minute},
		{"date in the past", 429, "Fri, 02 Jan 2026 03:00:05 GMT", ``, bench.FaultRateLimited, "", 0},
		{"negative seconds", 429, "-5", ``, bench.FaultRateLimited, "", 0},
		{"nonsense", 429, "soon", ``, bench.FaultRateLimited, "", 0},
		{"loading", 503, "2", `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`, bench.FaultLoading, "Loading model", 2 * time.Second},
		{"not implemented", 501, "9", `{"error":{"message":"x","type":"not_supported_error"}}`, bench.FaultServer, "x", 0},
		{"redirect", 307, "", ``, bench.FaultProtocol, "redirects", 0},
		{"null error", 400, "", `{"error":null,"message":"m"}`, bench.FaultRejected, "m", 0},
		{"odd error", 400, "", `{"error":[1]}`, bench.FaultRejected, "[1]", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := StatusError(tt.status, tt.retry, now, []byte(tt.body))
			if e.Fault != tt.fault || e.Status != tt.status || !strings.Contains(e.Message, tt.message) || e.RetryAfter != tt.after {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestStatusErrorIsBounded(t *testing.T) {
	e := StatusError(500, "", time.Time{}, []byte(strings.Repeat("é", 4000)))
	if len(e.Message) > messageBytes+len("…") || !utf8.ValidString(e.Message) || !strings.HasSuffix(e.Message, "…") {
		t.Errorf("%d bytes: %q", len(e.Message), e.Message)
	}
}

func TestErrorInsideStream(t *testing.T) {
	for body, want := range map[string]bench.EngineFault{
		`{"error":{"code":500,"message":"x","type":"server_error"}}`:                                                      bench.FaultServer,
		`{"error":{"code":500,"message":"The model produced output that does not match the expected peg-native format"}}`: bench.FaultUnparsable,
		`{"error":{"code":400,"message":"x","type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":8}}`:           bench.FaultContextExceeded,
		`{"object":"error","message":"boom","type":"InternalServerError","code":500}`:                                     bench.FaultServer,
		`{"error":"boom"}`:                         bench.FaultServer,
		`{"type":"error","error":{"message":"x"}}`: bench.FaultServer,
	} {
		r, err := parse(t, delta(`{"content":"a"}`), "data: "+body+"\n\n", doneMark)
		var e *bench.EngineError
		if !errors.As(err, &e) || e.Fault != want || r.Complete || r.Text != "a" {
			t.Errorf("%s: error %v, response %+v", body, err, r)
		}
		// The same object as the whole of a 200 answer.
		if _, err := parse(t, body); !errors.As(err, &e) || e.Fault != want {
			t.Errorf("%s alone: error %v", body, err)
		}
	}
}

func TestForeignShapes(t *testing.T) {
	for body, name := range map[string]string{
		`{"content":"x","stop":true}`:                                                                                              "llama.cpp native /completion",
		"data: {\"content\":\"x\",\"stop\":false}\n\n":                                                                             "llama.cpp native /completion",
		`{"object":"text_completion","choices":[{"text":"x","index":0}]}`:                                                          "/v1/completions",
		"data: {\"choices\":[{\"text\":\"x\",\"index\":0}]}\n\n":                                                                   "/v1/completions",
		`{"type":"message","role":"assistant","content":[]}`:                                                                       "Anthropic messages",
		"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n":                                              "Anthropic messages",
		`{"object":"response","output":[]}`:                                                                                        "Responses API",
		"event: response.created\ndata: {\"type\":\"response.created\",\"response\":{}}\n\n":                                       "Responses API",
		"{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"x\"},\"done\":false}\n{\"model\":\"m\",\"done\":true}": "Ollama native",
		`{"model":"m","response":"x","done":true}`:                                                                                 "Ollama native",
		`{"object":"list","data":[]}`:                                                                                              "a list",
		`{"status":"ok"}`:                                                                                                          "no choices",
		`{"choices":[]}`:                                                                                                           "0 choices",
		`{"choices":[{"index":0,"delta":{"content":"x"}}]}`:                                                                        "a part of a stream",
		"data: {\"choices\":[{\"index\":0,\"message\":{\"content\":\"x\"}}]}\n\n":                                                  "a whole chat completion inside a stream",
		"data: {\"choices\":[{\"index\":1,\"delta\":{}}]}\n\n":                                                                     "choice 1",
		"data: {\"choices\":[{\"index\":0,\"delta\":{}},{\"index\":0,\"delta\":{}}]}\n\n":                                          "2 choices",
		`{"choices":[{"index":0,"message":{"content":"x"}}]} {}`:                                                                   "more follows",
		"<html>":          "neither an event stream nor JSON",
		"data: hello\n\n": "not the JSON of a chat completion",
		`["x"]`:           "not the JSON of a chat completion",
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":[{\"text\":\"x\"}]}}]}\n\n": "not the JSON of a chat completion",
	} {
		r, err := parse(t, body)
		var e *bench.EngineError
		if !errors.As(err, &e) || e.Fault != bench.FaultProtocol || !strings.Contains(e.Message, name) || r.Complete {
			t.Errorf("%s: error %v", body, err)
		}
	}
}

func TestDocument(t *testing.T) {
	r, err := parse(t, "\xef\xbb\xbf \n{\"id\":\"i\",\"model\":\"m\",\"choices\":[{\"index\":0,\"finish_reason\":\"tool_calls\",\"message\":{\"role\":\"assistant\",",
		`"content":"<think>hm</think>t","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"f","arguments":"1"}}]}}],`,
		`"usage":{"completion_tokens":3},"timings":{"predicted_n":3,"predicted_ms":2.5}}`, " \n")
	if err != nil || !r.Complete || r.Streamed || r.Text != "t" || r.Reasoning != "hm" || len(r.ToolCalls) != 2 || r.ToolCalls[1].Arguments != "1" ||
		*r.Timings.PredictedN != 3 || r.Finish != bench.FinishToolCalls {
		t.Errorf("error %v, response %+v", err, r)
	}
	m := r.Marks
	if m.FirstToken != nil || m.FirstAnswer != nil || m.LastToken != nil || r.TokenEvents != 0 || *m.FirstByte != time.Millisecond || *m.End != 5*time.Millisecond {
		t.Errorf("marks %+v: a document does not say when its tokens came", m)
	}
}

// Servers that tell the sizes in words only.
func TestContextSizesInWords(t *testing.T) {
	tests := []struct {
		name, message   string
		prompt, context int64
	}{
		{"vLLM", "This model's maximum context length is 32768 tokens. However, your request has 2410 input tokens. Please reduce the length of the input messages.", 2410, 32768},
		{"vLLM, older", "This model's maximum context length is 4096 tokens. However, you requested 4200 tokens (104 in the messages, 4096 in the completion).", 104, 4096},
		{"vLLM, newer", "You passed 2049 input tokens and requested 2000 output tokens. However, the model's context length is only 4096 tokens.", 2049, 4096},
		{"SGLang", "The input (5000 tokens) is longer than the model's context length (4096 tokens).", 5000, 4096},
	}
	for _, tt := range tests {
		body := fmt.Sprintf(`{"object":"error","message":%q,"type":"BadRequestError","code":400}`, tt.message)
		e := StatusError(400, "", time.Time{}, []byte(body))
		if e.Fault != bench.FaultContextExceeded || e.PromptTokens == nil || *e.PromptTokens != tt.prompt || e.ContextSize == nil || *e.ContextSize != tt.context {
			t.Errorf("%s: %+v", tt.name, e)
		}
	}
}
