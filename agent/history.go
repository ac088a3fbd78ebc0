package agent

import (
	"fmt"
	"strings"
	"unicode"

	"assay/internal/bench"
)

// history is what the model is sent. It is valid whatever the model wrote: every
// call has an id of its own, a plain name, arguments that are a JSON object, and
// exactly one answer.
type history struct {
	messages []bench.Message
	ids      map[string]bool
	strip    bool // leave reasoning out
}

func newHistory(instruction string, strip bool) *history {
	return &history{
		messages: []bench.Message{
			{Role: bench.RoleSystem, Content: systemPrompt},
			{Role: bench.RoleUser, Content: instruction},
		},
		ids:   map[string]bool{},
		strip: strip,
	}
}

// callID returns the model's id for a call, or one of ours where it is empty, odd
// or was used before.
func (h *history) callID(given string, turn, n int) string {
	id := given
	if !plainID(id) || h.ids[id] {
		id = fmt.Sprintf("call_%d_%d", turn, n)
	}
	for base, k := id, 2; h.ids[id]; k++ {
		id = fmt.Sprintf("%s_%d", base, k)
	}
	h.ids[id] = true
	return id
}

func plainID(id string) bool {
	if id == "" || len(id) > maxIDBytes {
		return false
	}
	for _, r := range id {
		if r > unicode.MaxASCII || !unicode.IsGraphic(r) || r == ' ' {
			return false
		}
	}
	return true
}

// plainName returns a tool name that every server accepts in a history.
func plainName(name string) string {
	if name == "" || len(name) > maxIDBytes {
		return "unknown_tool"
	}
	for _, r := range name {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
		default:
			return "unknown_tool"
		}
	}
	return name
}

// assistant appends an answer with its calls, already made valid.
func (h *history) assistant(r bench.Response, calls []bench.ToolCall) {
	m := bench.Message{Role: bench.RoleAssistant, Content: strings.ToValidUTF8(r.Text, "\uFFFD"), ToolCalls: calls}
	if !h.strip && r.Reasoning != "" {
		m.Reasoning, m.ReasoningField = strings.ToValidUTF8(r.Reasoning, "\uFFFD"), r.ReasoningField
	}
	if len(calls) == 0 && strings.TrimSpace(m.Content) == "" {
		m.Content = placeholder
	}
	h.messages = append(h.messages, m)
}

func (h *history) answer(id, text string) {
	h.messages = append(h.messages, bench.Message{Role: bench.RoleTool, ToolCallID: id, Content: text})
}

func (h *history) user(text string) {
	h.messages = append(h.messages, bench.Message{Role: bench.RoleUser, Content: text})
}
