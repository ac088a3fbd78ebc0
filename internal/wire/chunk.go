package wire

import (
	"bytes"
	"encoding/json"
	"time"

	"assay/internal/bench"
)

// chunk is one JSON value of an answer: an event of a stream, or a whole
// document. Only fields that are read are named; a pointer or a raw value is nil
// where the server sent nothing or null.
type chunk struct {
	ID          string     `json:"id"`
	Model       string     `json:"model"`
	Fingerprint string     `json:"system_fingerprint"`
	Choices     *[]choice  `json:"choices"`
	Usage       *usage     `json:"usage"`
	Timings     *timings   `json:"timings"`
	Simulated   *simulated `json:"simulated"`
	markers
}

// markers are fields that tell an error or a foreign shape.
type markers struct {
	Object   raw `json:"object"`
	Type     raw `json:"type"`
	Error    raw `json:"error"`
	Content  raw `json:"content"`
	Stop     raw `json:"stop"`
	Done     raw `json:"done"`
	Message  raw `json:"message"`
	Response raw `json:"response"`
}

type choice struct {
	Index   int      `json:"index"`
	Finish  string   `json:"finish_reason"`
	Delta   *message `json:"delta"`   // stream
	Message *message `json:"message"` // document
	Text    raw      `json:"text"`    // text completions only
}

// message is the delta of a stream or the message of a document.
type message struct {
	Content          string     `json:"content"`
	ReasoningContent string     `json:"reasoning_content"`
	Reasoning        string     `json:"reasoning"`
	Thinking         string     `json:"thinking"`
	Refusal          string     `json:"refusal"`
	ToolCalls        []toolCall `json:"tool_calls"`
}

type toolCall struct {
	Index    *int   `json:"index"` // absent in documents and from some servers
	ID       string `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
}

// arguments is the text of a call's arguments. The protocol sends a string; a
// server that sends the object itself is taken at its bytes.
type arguments string

func (a *arguments) UnmarshalJSON(b []byte) error {
	switch {
	case bytes.Equal(b, []byte("null")):
		return nil
	case len(b) > 0 && b[0] == '"':
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*a = arguments(s)
	default:
		*a = arguments(b)
	}
	return nil
}

type usage struct {
	Prompt        *int64 `json:"prompt_tokens"`
	Completion    *int64 `json:"completion_tokens"`
	Reasoning     *int64 `json:"reasoning_tokens"` // SGLang writes it here
	PromptDetails *struct {
		Cached *int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails *struct {
		Reasoning *int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u *usage) bench() bench.Usage {
	out := bench.Usage{PromptTokens: u.Prompt, CompletionTokens: u.Completion, ReasoningTokens: u.Reasoning}
	if u.PromptDetails != nil {
		out.CachedTokens = u.PromptDetails.Cached
	}
	if u.CompletionDetails != nil && u.CompletionDetails.Reasoning != nil {
		out.ReasoningTokens = u.CompletionDetails.Reasoning
	}
	return out
}

type timings struct {
	CacheN         *int64   `json:"cache_n"`
	PromptN        *int64   `json:"prompt_n"`
	PromptMS       *float64 `json:"prompt_ms"`
	PredictedN     *int64   `json:"predicted_n"`
	PredictedMS    *float64 `json:"predicted_ms"`
	DraftN         *int64   `json:"draft_n"`
	DraftNAccepted *int64   `json:"draft_n_accepted"`
}

// simulated is the scripted engine's own addition: the time that it says the
// answer took, request to last token, in milliseconds.
type simulated struct {
	ElapsedMS *float64 `json:"elapsed_ms"`
}

func (s *simulated) duration() *time.Duration {
	// A week bounds it: beyond that the conversion could overflow.
	if s.ElapsedMS == nil || *s.ElapsedMS < 0 || *s.ElapsedMS > 7*24*3600*1000 {
		return nil
	}
	d := time.Duration(*s.ElapsedMS * float64(time.Millisecond))
	return &d
}

// raw is a JSON value that is kept unparsed; null is nil.
type raw []byte

func (r *raw) UnmarshalJSON(b []byte) error {
	if !bytes.Equal(b, []byte("null")) {
		*r = append([]byte{}, b...)
	}
	return nil
}

// text returns the value of a JSON string, and "" for anything else.
func (r raw) text() string {
	var s string
	if len(r) == 0 || r[0] != '"' || json.Unmarshal(r, &s) != nil {
		return ""
	}
	return s
}

func (r raw) kind() byte {
	if len(r) == 0 {
		return 0
	}
	return r[0]
}

// whole reports whether data is a complete event: the end mark or one JSON value.
func whole(data []byte) bool { return isDone(data) || json.Valid(data) }

func isDone(data []byte) bool { return string(bytes.TrimSpace(data)) == "[DONE]" }
