package scripted

// The syntax around the parts of an answer, as the scripted model "writes" it.
const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
	turnEnd    = "<|im_end|>\n"
	callClose  = "}</tool_call>"
)

func callOpen(name string) string {
	quoted, err := marshal(name)
	if err != nil { // a string always marshals
		quoted = []byte(`""`)
	}
	return `<tool_call>{"name":` + string(quoted) + `,"arguments":`
}

// chatTemplate is what /props shows: the rendering of chatRequest.prompt.
const chatTemplate = `{%- if tools %}<|im_start|>tools
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}
{%- for m in messages %}<|im_start|>{{ m.role }}
{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}
{%- for c in m.tool_calls %}<tool_call>{"name":{{ c.function.name | tojson }},"arguments":{{ c.function.arguments }}}</tool_call>{% endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}`
