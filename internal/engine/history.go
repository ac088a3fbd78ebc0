package engine

import (
	"fmt"

	"assay/internal/bench"
)

// chatMessage is an entry of the history on the wire. go-openai's own type knows
// one spelling of reasoning and drops empty content, which servers demand.
type chatMessage struct {
	Role             bench.Role `json:"role"`
	Content          *string    `json:"content"` // null beside tool calls without text
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	Reasoning        string     `json:"reasoning,omitempty"`
	Thinking         string     `json:"thinking,omitempty"`
	ToolCalls        []chatCall `json:"tool_calls,omitempty"`
	ToolCallID       string     `json:"tool_call_id,omitempty"`
}

type chatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func history(in []bench.Message, replay bench.Replay) ([]chatMessage, error) {
	out := make([]chatMessage, 0, len(in))
	for i, m := range in {
		c := chatMessage{Role: m.Role, ToolCallID: m.ToolCallID}
		content := m.Content
		if m.Reasoning != "" && replay != bench.ReplayStrip {
			switch m.ReasoningField {
			case "reasoning_content", "":
				c.ReasoningContent = m.Reasoning
			case "reasoning":
				c.Reasoning = m.Reasoning
			case "thinking":
				c.Thinking = m.Reasoning
			case "think":
				// The parser keeps every byte between and after the tags, so this is
				// what the model wrote.
				content = "<think>" + m.Reasoning + "</think>" + content
			default:
				return nil, fmt.Errorf("message %d: reasoning came in a field %q that cannot be replayed", i, m.ReasoningField)
			}
		}
		for _, t := range m.ToolCalls {
			c.ToolCalls = append(c.ToolCalls, chatCall{ID: t.ID, Type: "function", Function: chatFunction{Name: t.Name, Arguments: t.Arguments}})
		}
		if content != "" || len(c.ToolCalls) == 0 {
			c.Content = &content
		}
		out = append(out, c)
	}
	return out, nil
}
