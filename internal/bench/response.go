package bench

import "time"

// Finish is the normalised end of a response.
type Finish string

// The normalised finish reasons. FinishUnknown covers an absent or foreign word;
// the raw word is kept beside it.
const (
	FinishStop      Finish = "stop"
	FinishToolCalls Finish = "tool_calls"
	FinishLength    Finish = "length"
	FinishFilter    Finish = "content_filter"
	FinishUnknown   Finish = "unknown"
)

// Response is one model call with its tokens, timings and raw payload.
type Response struct {
	RequestBody []byte // exactly the bytes that were sent
	Raw         []byte // exactly the body bytes that came back, at most the client's cap
	RawTotal    int64  // body bytes received, also those over the cap
	Status      int    // HTTP status; 0: no answer
	Streamed    bool

	// Complete: the protocol's own end mark was read (`data: [DONE]` of a chat
	// stream, a whole JSON object otherwise). Anything else is incomplete,
	// whatever it looks like.
	Complete bool

	ID          string
	Model       string // as the server named it
	Fingerprint string // system_fingerprint

	Text           string // content, without reasoning
	Reasoning      string
	ReasoningField string // spelling in which it came; "think" for <think> tags inside content
	Refusal        string // the protocol's refusal field only
	ToolCalls      []ToolCall

	FinishRaw string
	Finish    Finish

	Usage   Usage
	Timings *Timings // engine's own, nil where the server sent none
	Marks   Marks

	TokenEvents int // stream events that carried at least one generated token

	// Simulated is set by the scripted engine only: how long it says that the
	// answer took, request to last token. It stands for the wall time of the
	// call, so that a demo need not wait; nil: the answer was real.
	Simulated *time.Duration
}

// Usage is the server's token count. Nil is unknown, never zero.
type Usage struct {
	PromptTokens     *int64
	CompletionTokens *int64
	CachedTokens     *int64 // prompt_tokens_details.cached_tokens
	ReasoningTokens  *int64 // completion_tokens_details.reasoning_tokens
}

// Timings are an engine's own counts and timers for one request, in the shape of
// llama.cpp's `timings` object. The server's rates are not read: their formula
// changed between builds.
type Timings struct {
	CacheN         *int64   // prompt tokens taken from the cache
	PromptN        *int64   // prompt tokens computed, cached ones excluded
	PromptMS       *float64 // milliseconds, slot start to first token sampled
	PredictedN     *int64   // output tokens: thinking, tool syntax and the end token included
	PredictedMS    *float64 // milliseconds, first to last token
	DraftN         *int64   // drafted tokens; nil: none drafted or speculation off
	DraftNAccepted *int64
}

// Marks are moments of one response on our monotonic clock, as time since Start.
// They are stamped when bytes were read, before anything is parsed.
type Marks struct {
	Start       time.Time      // just before the first byte of the request was written
	FirstByte   *time.Duration // first byte of the answer's body
	FirstToken  *time.Duration // TTFT: first generated token of any kind
	FirstAnswer *time.Duration // TTFC: first token of content or tool call
	LastToken   *time.Duration // last event that carried a generated token (E2E)
	End         *time.Duration // end of body
}

// OutputTokens returns the engine's own count of output tokens: timings first,
// else usage, else nil.
func (r Response) OutputTokens() *int64 {
	if r.Timings != nil && r.Timings.PredictedN != nil {
		return r.Timings.PredictedN
	}
	return r.Usage.CompletionTokens
}

// PromptTokens returns the length of the whole prompt, cached part included:
// usage first, else prompt_n + cache_n, else nil.
func (r Response) PromptTokens() *int64 {
	if r.Usage.PromptTokens != nil {
		return r.Usage.PromptTokens
	}
	if t := r.Timings; t != nil && t.PromptN != nil && t.CacheN != nil {
		n := *t.PromptN + *t.CacheN
		return &n
	}
	return nil
}

// DecodeSeconds returns the engine's own decode time in seconds, first to last
// token (llama.cpp timings.predicted_ms / 1000), or nil.
func (r Response) DecodeSeconds() *float64 {
	if r.Timings == nil || r.Timings.PredictedMS == nil {
		return nil
	}
	s := *r.Timings.PredictedMS / 1000
	return &s
}

// NativeDecode reports whether the response may enter a pooled native decode
// rate: the engine's own count and timer, and at least two tokens.
func (r Response) NativeDecode() bool {
	t := r.Timings
	return t != nil && t.PredictedN != nil && *t.PredictedN >= 2 && t.PredictedMS != nil && *t.PredictedMS > 0
}
