// Package wire turns the bytes of a model server's answer into a
// bench.Response: text, reasoning, tool calls, token counts, timings, finish
// reason and marks. It parses and does nothing else: no connection, no clock, no
// file. The caller hands it the bytes of each read with the moment at which that
// read returned.
//
// One shape is read: the OpenAI chat completion, streamed as server-sent events
// or whole, with llama.cpp's additions (`timings`, `reasoning_content`). Other
// shapes that the same servers speak are recognised and refused by name.
//
// Whether an answer is complete is decided here and nowhere else: a stream is
// complete when its `data: [DONE]` was read, a document when it is one whole JSON
// value. A finish reason, a usage object or a clean end of the body proves
// nothing.
package wire
