package bench

import "encoding/json"

// Role says who speaks in a Message.
type Role string

// The four roles of a chat history.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of the history that is sent to a model.
type Message struct {
	Role    Role
	Content string

	// Reasoning of an assistant message, replayed in the field in which it came
	// ("reasoning_content", "reasoning", "thinking"). Empty: nothing is sent.
	Reasoning      string
	ReasoningField string

	ToolCalls  []ToolCall // assistant only
	ToolCallID string     // tool only: the call that this message answers
}

// ToolCall is a call as the model wrote it.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // raw text of the model; may be invalid or cut JSON
}

// Tool describes one tool to the model.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the arguments object
}

// Request is one model call as the agent asks for it. What belongs to the arm
// (address, model id, sampling, extra body) is the engine client's.
type Request struct {
	Messages        []Message
	Tools           []Tool
	MaxOutputTokens int   // max_tokens of this response, always sent
	Seed            int64 // sampler seed, see SamplerSeed
}
