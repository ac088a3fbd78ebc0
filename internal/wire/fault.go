package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"assay/internal/bench"
)

// messageBytes bounds the server's words in an error.
const messageBytes = 500

// StatusError says what an answer with a status other than 200 means. retryAfter
// is the value of its Retry-After header, now the time to count a date in it
// from. The error has no URL.
func StatusError(status int, retryAfter string, now time.Time, body []byte) *bench.EngineError {
	var c chunk
	trimmed := bytes.TrimSpace(bytes.TrimPrefix(body, bom))
	var e *bench.EngineError
	if len(trimmed) > 0 && trimmed[0] == '{' {
		_ = json.Unmarshal(trimmed, &c.markers) // other JSON is kept as text below
		e = c.fault(status)
	}
	if e == nil {
		e = details{Message: detail(trimmed)}.engineError(status)
	}
	e.Status = status
	switch {
	case status >= 300 && status < 400:
		e.Message = "the server redirects, which is not followed: give the final address"
	case e.Message == "":
		e.Message = "the answer has no body"
	}
	if e.Fault == bench.FaultRateLimited || e.Fault == bench.FaultLoading {
		e.RetryAfter = parseRetryAfter(retryAfter, now)
	}
	return e
}

// detail finds the words of an error body that has no error object.
func detail(body []byte) string {
	var v struct {
		Detail  raw `json:"detail"`
		Message raw `json:"message"`
	}
	if json.Unmarshal(body, &v) == nil {
		for _, r := range []raw{v.Message, v.Detail} {
			if s := r.text(); s != "" {
				return s
			}
			if r != nil {
				return string(r)
			}
		}
	}
	return string(body)
}

// details is an error object as servers write it. The code is a number or a
// word; only words are read, because the HTTP status says the number.
type details struct {
	Message      string
	Type         string
	Code         string
	PromptTokens *int64
	ContextSize  *int64
}

// fault returns the error that a JSON value carries, or nil. Three spellings
// occur: an error object, an error text, and a flat object of type "error".
func (m *markers) fault(status int) *bench.EngineError {
	body := m.Error
	switch {
	case body.kind() == '"':
		return details{Message: body.text()}.engineError(status)
	case body.kind() == '{':
	case m.Object.text() == "error":
		return details{Message: m.Message.text(), Type: m.Type.text()}.engineError(status)
	case body.kind() == 0:
		return nil
	default:
		return details{Message: string(body)}.engineError(status)
	}
	var v struct {
		Message      raw             `json:"message"`
		Type         raw             `json:"type"`
		Code         raw             `json:"code"`
		PromptTokens json.RawMessage `json:"n_prompt_tokens"`
		ContextSize  json.RawMessage `json:"n_ctx"`
	}
	if json.Unmarshal(body, &v) != nil {
		return details{Message: string(body)}.engineError(status)
	}
	d := details{
		Message: v.Message.text(), Type: v.Type.text(), Code: v.Code.text(),
		PromptTokens: number(v.PromptTokens), ContextSize: number(v.ContextSize),
	}
	if d.Message == "" {
		d.Message = string(body)
	}
	return d.engineError(status)
}

func number(b json.RawMessage) *int64 {
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

func (d details) engineError(status int) *bench.EngineError {
	e := &bench.EngineError{Fault: d.fault(status), Message: excerpt([]byte(d.Message), messageBytes)}
	if e.Fault == bench.FaultContextExceeded {
		e.PromptTokens, e.ContextSize = d.sizes()
		if d.PromptTokens != nil {
			e.PromptTokens = d.PromptTokens
		}
		if d.ContextSize != nil {
			e.ContextSize = d.ContextSize
		}
	}
	return e
}

// fault classifies. What the words say of the request comes before the status,
// because servers send it under several: llama.cpp a full context under 400, 200
// and 500, and a router an unknown model under 400.
func (d details) fault(status int) bench.EngineFault {
	switch {
	case status == 401 || status == 403:
		return bench.FaultUnauthorised
	case status == 404:
		return bench.FaultNotFound
	case status == 429:
		return bench.FaultRateLimited
	case d.contextExceeded():
		return bench.FaultContextExceeded
	case d.unparsable():
		return bench.FaultUnparsable
	case status == 503:
		return bench.FaultLoading
	case status >= 500 || (status >= 200 && status < 300):
		return bench.FaultServer
	case status >= 400:
		if d.Code == "model_not_found" || (strings.HasPrefix(d.Message, "model '") && strings.HasSuffix(d.Message, "' not found")) {
			return bench.FaultNotFound
		}
		return bench.FaultRejected
	}
	return bench.FaultProtocol
}

func (d details) contextExceeded() bool {
	if d.Type == "exceed_context_size_error" || d.Code == "context_length_exceeded" {
		return true
	}
	m := strings.ToLower(d.Message)
	for _, words := range contextWords {
		if strings.Contains(m, words) {
			return true
		}
	}
	return false
}

// contextWords are how servers without a type for it say that a request is too
// long: llama.cpp, vLLM, SGLang, Anthropic's shape.
var contextWords = []string{
	"exceeds the available context size",
	"maximum context length",
	"model's context length",
	"longer than the context",
	"prompt is too long",
}

// sizes reads the context and the prompt from such words, where they tell them.
func (d details) sizes() (prompt, context *int64) {
	find := func(patterns ...string) *int64 {
		for _, p := range patterns {
			if m := regexp.MustCompile(p).FindStringSubmatch(d.Message); m != nil {
				return number([]byte(m[1]))
			}
		}
		return nil
	}
	return find(`request has (\d+) input tokens`, `passed (\d+) input tokens`, `\((\d+) in the messages`, `input \((\d+) tokens\)`),
		find(`maximum context length (?:is|of) (\d+)`, `model's context length (?:is only |is |\()(\d+)`)
}

func (d details) unparsable() bool {
	return strings.Contains(d.Message, "Failed to parse input at pos") ||
		strings.Contains(d.Message, "Failed to parse tool call arguments") ||
		strings.Contains(d.Message, "The model produced output that does not match the expected")
}

// parseRetryAfter reads seconds or an HTTP date; 0 where neither is given.
func parseRetryAfter(v string, now time.Time) time.Duration {
	v = strings.TrimSpace(v)
	if n, err := strconv.ParseInt(v, 10, 32); err == nil {
		return max(0, time.Duration(n)*time.Second)
	}
	// The fixed format of HTTP dates; the two older ones are no longer sent.
	if t, err := time.Parse("Mon, 02 Jan 2006 15:04:05 GMT", v); err == nil {
		return max(0, t.Sub(now))
	}
	return 0
}

func protocol(format string, args ...any) *bench.EngineError {
	return &bench.EngineError{Fault: bench.FaultProtocol, Message: fmt.Sprintf(format, args...)}
}

func malformed(what string, data []byte, err error) *bench.EngineError {
	e := protocol("%s is not the JSON of a chat completion: %q", what, excerpt(data, 80))
	e.Err = err
	return e
}

func cut(message string) *bench.EngineError {
	return &bench.EngineError{Fault: bench.FaultCut, Message: message}
}

func tooLarge(what string, limit int) *bench.EngineError {
	return &bench.EngineError{Fault: bench.FaultTooLarge, Message: fmt.Sprintf("%s is over %d bytes", what, limit)}
}

func tooMany(what string, limit int) *bench.EngineError {
	return &bench.EngineError{Fault: bench.FaultTooManyCalls, Message: fmt.Sprintf("more than %d %s in one answer", limit, what)}
}

// excerpt returns the start of b as one line of valid text.
func excerpt(b []byte, limit int) string {
	long := len(b) > limit
	if long {
		b = b[:limit]
		for range utf8.UTFMax - 1 { // a rune that the cut broke
			if r, n := utf8.DecodeLastRune(b); r != utf8.RuneError || n != 1 {
				break
			}
			b = b[:len(b)-1]
		}
	}
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(b), "\uFFFD")), " ")
	if long {
		s += "…"
	}
	return s
}
