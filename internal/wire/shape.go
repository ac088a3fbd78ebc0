package wire

import (
	"strings"

	"assay/internal/bench"
)

// foreign names the protocol of a JSON value that is no part of a chat
// completion, or returns "".
func (c *chunk) foreign() string {
	object, typ := c.Object.text(), c.Type.text()
	switch {
	case object == "text_completion" || c.textChoice():
		return "a /v1/completions answer"
	case object == "response" || strings.HasPrefix(typ, "response."):
		return "a Responses API answer"
	case typ == "message" || typ == "message_start" || typ == "message_delta" || typ == "message_stop" || strings.HasPrefix(typ, "content_block_"):
		return "an Anthropic messages answer"
	case c.Choices != nil:
		return ""
	case c.Content.kind() == '"' && (c.Stop.kind() == 't' || c.Stop.kind() == 'f'):
		return "a llama.cpp native /completion answer"
	case c.Done.kind() != 0 && (c.Message.kind() == '{' || c.Response.kind() == '"'):
		return "an Ollama native answer"
	case object == "list":
		return "a list"
	}
	return ""
}

func (c *chunk) textChoice() bool {
	if c.Choices == nil {
		return false
	}
	for _, ch := range *c.Choices {
		if ch.Text != nil && ch.Delta == nil && ch.Message == nil {
			return true
		}
	}
	return false
}

// check refuses a value that is not a part of a chat completion of one choice.
// In a stream a value without choices is no fault as long as it is not foreign:
// servers add progress and keep-alive objects.
func (c *chunk) check(stream bool) *bench.EngineError {
	if name := c.foreign(); name != "" {
		return protocol("this is %s, not a chat completion", name)
	}
	if c.Choices == nil {
		if stream {
			return nil
		}
		return protocol("this JSON has no choices: not a chat completion")
	}
	for _, ch := range *c.Choices {
		switch {
		case ch.Index != 0:
			return protocol("choice %d in an answer to a request for one choice", ch.Index)
		case stream && ch.Message != nil && ch.Delta == nil:
			return protocol("a whole chat completion inside a stream")
		case !stream && ch.Message == nil:
			return protocol("a choice without a message: a part of a stream where a whole chat completion belongs")
		}
	}
	if n := len(*c.Choices); n > 1 || (!stream && n == 0) {
		return protocol("%d choices in an answer to a request for one choice", n)
	}
	return nil
}
