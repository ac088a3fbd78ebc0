// Package engine speaks to model servers: it finds out what a server is, reads
// back what it runs, and asks it for chat completions.
//
// The requests are go-openai's. Below it stands our own http.RoundTripper, for
// three reasons: go-openai drops sampler settings that are zero, its stream
// reader cannot tell a cut stream from a finished one, and it gives no moment at
// which bytes were read. The round tripper writes the final body, keeps it, and
// hands every read of the answer with its time to package wire, which alone
// decides what the answer says and whether it is whole.
//
// Nothing is retried here: a retry inside a timed call would hide itself.
package engine
