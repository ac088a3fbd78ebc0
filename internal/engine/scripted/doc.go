// Package scripted is assay's own model server, for demos and tests: a real HTTP
// server in llama.cpp's wire format that plays prepared answers at simulated
// speeds. /props says "assay_scripted": true, every answer has the header
// "Server: assay-scripted", and everything that comes from it is labelled
// simulated.
//
// # What is played
//
// A [Profile] is one server. Of its programs the first is played whose task text
// occurs in the first user message and whose seeds hold the request's. The turn is
// the number of assistant messages in the history: the server itself remembers no
// conversation. After the last turn it answers an empty message.
//
// Tokens are counted by a tokenizer of its own: as many whole characters as fit in
// four bytes. A prompt is counted as the chat template of /props renders it. An
// answer counts its tool syntax and its end token; max_tokens and the end of the
// context really cut it. Cut inside a call, a stream just ends, and an answer
// without stream shows the raw text.
//
// # What it costs
//
// Times are whole microseconds. The decode part of an answer is a function of
// model, speed, program, turn and seed: two seeds differ by a few per cent. The
// prompt part depends on cached tokens as well: the prefix that the prompt shares
// with the last request of its slot, that request's answer included. At the pace
// [Instant] the answer comes at once, and beside its timings stands
//
//	"simulated":{"elapsed_ms":1234.5}
//
// which is prompt_ms + predicted_ms. At the pace [Real] the stream takes the time
// that it claims.
//
// With a draft depth every decode step drafts that many tokens and accepts the
// stated share, rounded up or down by chance; the tokens of one step come together.
// DecodeTPS is the resulting rate, speculation included.
//
// Samplers, stop words and logprobs are ignored; n other than 1 is refused.
//
// # Profile files
//
// [LoadProfiles] reads a TOML file. Keys left out have the defaults of [Profile];
// unknown ones are faults.
//
//	schema = 1
//
//	[[profile]]
//	model = "demo-q4"
//	context_per_slot = 16384     # tokens
//	slots = 1
//	pace = "instant"             # or "real"
//	key = "test-key"             # wanted by every path but /health
//	public = false               # true: may listen beyond this machine
//
//	[profile.speed]
//	prefill_tps = 900.0          # tokens per second
//	decode_tps = 42.5            # output tokens per second, speculation included
//	draft_depth = 3
//	acceptance = 0.7             # accepted / drafted
//
//	[[profile.program]]
//	name = "right"
//	task = "ledger"              # text of the first user message; left out: any
//	study_seeds = [1, 2]         # seeds of a study, repeat 1
//	seeds = [99]                 # seeds of the sampler, as requests carry them
//
//	[[profile.program.turn]]
//	reasoning = "I look first."
//	reasoning_tokens = 120       # claimed; left out: counted
//	call = [{ name = "list_files" }]
//
//	[[profile.program.turn]]
//	text = "Now I write it."
//	text_tokens = 40
//
//	[[profile.program.turn.call]]
//	name = "write_file"
//	arguments = { path = "ledger.py" }
//	content_file = "ledger.py"   # argument "content": a file beside this one
//
//	[[profile.program.turn.call]]
//	name = "run"
//	raw_arguments = "{\"command\": \"python3 led"   # sent as it is
//
//	[[profile.program.turn]]
//	call = [{ name = "submit" }]
//
//	[[profile.program]]
//	name = "endless"
//
//	[[profile.program.turn]]
//	text = "and so on"
//	finish = "length"            # runs into max_tokens
package scripted
