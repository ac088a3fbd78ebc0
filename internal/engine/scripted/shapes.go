package scripted

import (
	"bytes"
	"math"
	"strconv"
)

// The structs of this file are llama.cpp's answers; the order of their fields is
// the order of its keys.

// number prints as llama.cpp prints a double: always with a point or exponent.
type number float64

// MarshalJSON implements json.Marshaler. What is no number prints as null.
func (n number) MarshalJSON() ([]byte, error) {
	f := float64(n)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null"), nil
	}
	b := strconv.AppendFloat(nil, f, 'g', -1, 64)
	if !bytes.ContainsAny(b, ".e") {
		b = append(b, ".0"...)
	}
	return b, nil
}

type timings struct {
	CacheN              int64  `json:"cache_n"`
	PromptN             int64  `json:"prompt_n"`
	PromptMS            number `json:"prompt_ms"`
	PromptPerTokenMS    number `json:"prompt_per_token_ms"`
	PromptPerSecond     number `json:"prompt_per_second"`
	PredictedN          int64  `json:"predicted_n"`
	PredictedMS         number `json:"predicted_ms"`
	PredictedPerTokenMS number `json:"predicted_per_token_ms"`
	PredictedPerSecond  number `json:"predicted_per_second"`
	DraftN              int64  `json:"draft_n,omitempty"`
	DraftNAccepted      *int64 `json:"draft_n_accepted,omitempty"`
}

type usage struct {
	CompletionTokens int64 `json:"completion_tokens"`
	PromptTokens     int64 `json:"prompt_tokens"`
	TotalTokens      int64 `json:"total_tokens"`
	Details          struct {
		CachedTokens int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// simulated stands beside timings wherever the time was claimed and not spent.
type simulated struct {
	ElapsedMS number `json:"elapsed_ms"` // prompt_ms + predicted_ms
}

type progress struct {
	Total     int64 `json:"total"`
	Cache     int64 `json:"cache"`
	Processed int64 `json:"processed"`
	TimeMS    int64 `json:"time_ms"`
}

// chunk is one event of a chat stream.
type chunk struct {
	Choices           []streamChoice `json:"choices"`
	Created           int64          `json:"created"`
	ID                string         `json:"id"`
	Model             string         `json:"model"`
	SystemFingerprint string         `json:"system_fingerprint"`
	Object            string         `json:"object"`
	Usage             *usage         `json:"usage,omitempty"`
	Timings           *timings       `json:"timings,omitempty"`
	PromptProgress    *progress      `json:"prompt_progress,omitempty"`
	Simulated         *simulated     `json:"simulated,omitempty"`
}

type streamChoice struct {
	FinishReason *string `json:"finish_reason"`
	Index        int     `json:"index"`
	Delta        any     `json:"delta"`
}

type roleDelta struct {
	Role    string  `json:"role"`
	Content *string `json:"content"` // null
}

type delta struct {
	Content          string      `json:"content,omitempty"`
	ReasoningContent string      `json:"reasoning_content,omitempty"`
	ToolCalls        []callDelta `json:"tool_calls,omitempty"`
}

type callDelta struct {
	Index    int           `json:"index"`
	ID       string        `json:"id,omitempty"`
	Type     string        `json:"type,omitempty"`
	Function functionDelta `json:"function"`
}

type functionDelta struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// completion is the whole answer of a request without stream.
type completion struct {
	Choices           [1]choice  `json:"choices"`
	Created           int64      `json:"created"`
	Model             string     `json:"model"`
	SystemFingerprint string     `json:"system_fingerprint"`
	Object            string     `json:"object"`
	Usage             *usage     `json:"usage"`
	ID                string     `json:"id"`
	Timings           *timings   `json:"timings"`
	Simulated         *simulated `json:"simulated,omitempty"`
}

type choice struct {
	FinishReason string  `json:"finish_reason"`
	Index        int     `json:"index"`
	Message      message `json:"message"`
}

type message struct {
	Role             string        `json:"role"`
	Content          string        `json:"content"`
	ReasoningContent string        `json:"reasoning_content,omitempty"`
	ToolCalls        []messageCall `json:"tool_calls,omitempty"`
}

type messageCall struct {
	Type     string       `json:"type"`
	Function callFunction `json:"function"`
	ID       string       `json:"id"`
}

type callFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}
