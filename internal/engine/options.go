package engine

import (
	"context"
	"fmt"
	"net"
	"time"
)

// Options bound a Client. A zero field means its default.
type Options struct {
	// Idle is the longest silence of a model call: no byte of any kind, pings and
	// progress included. It also covers the wait for the first byte. Default 10
	// minutes.
	Idle time.Duration

	// MaxOutputTokens is the longest answer that will be asked for. RawCap
	// follows it where that is not given.
	MaxOutputTokens int

	// RawCap is the largest answer in bytes; a longer one ends with
	// bench.FaultTooLarge. Default 1 KiB for each token of MaxOutputTokens, at
	// least 32 MiB.
	RawCap int64

	// DialTimeout bounds connect and TLS handshake, each. Default 10 seconds.
	DialTimeout time.Duration

	// ProbeTimeout bounds each request that reads back what the server is.
	// Default 30 seconds.
	ProbeTimeout time.Duration

	// LoadWait is how long Open waits for a server that says that it is loading
	// its model. 0: it does not wait.
	LoadWait time.Duration

	// Getenv reads the environment, for API keys only. Required for an arm with
	// KeyEnv.
	Getenv func(string) string

	// UserAgent is sent with every request. Default "assay".
	UserAgent string

	capOrigin string // where RawCap comes from, in words

	dial func(ctx context.Context, network, addr string) (net.Conn, error) // tests
}

// A stream takes about 300 bytes a token; pings and progress come on top.
const (
	leastCap = 32 << 20 // bytes
	tokenCap = 1 << 10  // bytes a token
)

func (o Options) withDefaults() Options {
	if o.Idle <= 0 {
		o.Idle = 10 * time.Minute
	}
	o.capOrigin = "set for this client"
	if o.RawCap <= 0 {
		o.RawCap = max(leastCap, int64(o.MaxOutputTokens)*tokenCap)
		o.capOrigin = fmt.Sprintf("the larger of %d bytes and %d for each of max_output_tokens %d", leastCap, tokenCap, o.MaxOutputTokens)
	}
	if o.DialTimeout <= 0 {
		o.DialTimeout = 10 * time.Second
	}
	if o.ProbeTimeout <= 0 {
		o.ProbeTimeout = 30 * time.Second
	}
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.UserAgent == "" {
		o.UserAgent = "assay"
	}
	if o.dial == nil {
		o.dial = (&net.Dialer{Timeout: o.DialTimeout}).DialContext
	}
	return o
}

// ArmError says that the declared part of an arm cannot be used: the fault lies
// in the study file or the environment, no server was asked.
type ArmError struct {
	Arm     string
	Field   string // "url", "key_env", "extra_body", "sampling"
	Message string
}

func (e *ArmError) Error() string { return fmt.Sprintf("arm %s: %s: %s", e.Arm, e.Field, e.Message) }
