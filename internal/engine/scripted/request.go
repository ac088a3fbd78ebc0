package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// randomSeed is the seed that llama.cpp reports where none was sent. Here it is
// used as it is, so that such a request is reproducible too.
const randomSeed = 4294967295

type chatRequest struct {
	messages []chatMessage
	tools    []json.RawMessage

	maxTokens       *int64
	seed            int64
	stream          bool
	includeUsage    bool
	timingsPerToken bool
	returnProgress  bool
	cachePrompt     bool
}

type chatMessage struct {
	role      string
	content   string
	reasoning string
	calls     []chatCall
}

type chatCall struct {
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// parseChat reads the body of a chat request. Fields that a script cannot honour
// (samplers, logprobs, stop words) are ignored.
func parseChat(body []byte) (chatRequest, *apiError) {
	r := chatRequest{seed: randomSeed, cachePrompt: true}
	fields, fail := parseBody(body)
	if fail != nil {
		return r, fail
	}
	rawMessages, ok := fields["messages"]
	if !ok {
		return r, badRequest("'messages' is required")
	}
	var messages []json.RawMessage
	if err := json.Unmarshal(rawMessages, &messages); err != nil {
		return r, badRequest("Expected 'messages' to be an array")
	}
	for _, raw := range messages {
		m, fail := parseMessage(raw)
		if fail != nil {
			return r, fail
		}
		r.messages = append(r.messages, m)
	}

	var streamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	}
	var temperature float64
	var n int64 = 1
	optional := []struct {
		name, want string
		into       any
	}{
		{"tools", "array", &r.tools},
		{"max_completion_tokens", "number", &r.maxTokens},
		{"max_tokens", "number", &r.maxTokens},
		{"seed", "number", &r.seed},
		{"stream", "boolean", &r.stream},
		{"stream_options", "object", &streamOptions},
		{"timings_per_token", "boolean", &r.timingsPerToken},
		{"return_progress", "boolean", &r.returnProgress},
		{"cache_prompt", "boolean", &r.cachePrompt},
		{"temperature", "number", &temperature},
		{"n", "number", &n},
	}
	for _, f := range optional {
		raw, ok := fields[f.name]
		if !ok || isNull(raw) {
			continue
		}
		if err := json.Unmarshal(raw, f.into); err != nil {
			return r, badRequest("Field '%s': type must be %s, but is %s", f.name, f.want, jsonType(raw))
		}
	}
	if n != 1 {
		return r, badRequest("'n' is %d: a script has one answer", n)
	}
	if r.seed < 0 {
		r.seed = randomSeed
	}
	r.includeUsage = streamOptions.IncludeUsage
	return r, nil
}

// parseBody reads a JSON object. A body that is no JSON at all is a server error,
// as it is in llama.cpp.
func parseBody(body []byte) (map[string]json.RawMessage, *apiError) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, serverError("parse error at byte 1: the body is empty")
	}
	var whole json.RawMessage
	if err := json.Unmarshal(body, &whole); err != nil {
		return nil, serverError("parse error: %v", err)
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, badRequest("the body must be an object, but is %s", jsonType(body))
	}
	return fields, nil
}

func parseMessage(raw json.RawMessage) (chatMessage, *apiError) {
	var in struct {
		Role             *string         `json:"role"`
		Content          json.RawMessage `json:"content"`
		ReasoningContent string          `json:"reasoning_content"`
		Reasoning        string          `json:"reasoning"`
		Thinking         string          `json:"thinking"`
		ToolCalls        []chatCall      `json:"tool_calls"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return chatMessage{}, badRequest("Invalid message: %v", err)
	}
	if in.Role == nil {
		return chatMessage{}, badRequest("Missing 'role' in a message")
	}
	m := chatMessage{role: *in.Role, calls: in.ToolCalls}
	m.reasoning = in.ReasoningContent + in.Reasoning + in.Thinking
	content, ok := parseContent(in.Content)
	if !ok {
		return m, badRequest("Expected 'content' to be a string or an array")
	}
	m.content = content
	return m, nil
}

// parseContent reads a string, null, or an array of text parts.
func parseContent(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || isNull(raw) {
		return "", true
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, true
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", false
	}
	for _, p := range parts {
		text += p.Text
	}
	return text, true
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

func jsonType(raw []byte) string {
	raw = bytes.TrimSpace(raw)
	switch raw[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// firstUser returns the first user message; it tells the task.
func (r chatRequest) firstUser() string {
	for _, m := range r.messages {
		if m.role == "user" {
			return m.content
		}
	}
	return ""
}

// turn returns the index of the turn to be played: the number of answers in the
// history. The server keeps no conversation of its own.
func (r chatRequest) turn() int {
	n := 0
	for _, m := range r.messages {
		if m.role == "assistant" {
			n++
		}
	}
	return n
}

// prompt renders the history as chatTemplate says, up to where the answer begins.
func (r chatRequest) prompt() string {
	var b strings.Builder
	if len(r.tools) > 0 {
		b.WriteString("<|im_start|>tools\n")
		for _, t := range r.tools {
			b.Write(t)
			b.WriteString("\n")
		}
		b.WriteString(turnEnd)
	}
	for _, m := range r.messages {
		fmt.Fprintf(&b, "<|im_start|>%s\n", m.role)
		if m.reasoning != "" {
			b.WriteString(thinkOpen + m.reasoning + thinkClose)
		}
		b.WriteString(m.content)
		for _, c := range m.calls {
			b.WriteString(callOpen(c.Function.Name) + c.Function.Arguments + callClose)
		}
		b.WriteString(turnEnd)
	}
	b.WriteString("<|im_start|>assistant\n")
	return b.String()
}
