package engine

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"sync"

	"github.com/sashabaranov/go-openai"

	"assay/internal/bench"
)

// Client speaks to the server of one arm. It may be used by several goroutines.
type Client struct {
	arm   bench.Arm
	opts  Options
	addr  address
	key   string
	http  *http.Client // probes
	chat  *openai.Client
	model string // id that requests carry

	conns *http.Transport

	mu       sync.Mutex
	observed bench.Observed
}

// Open finds the server of an arm, waits up to opts.LoadWait while it loads its
// model, reads back what it runs and settles which model id requests will carry.
// The errors are *ArmError for a fault of the arm's own fields, *bench.EngineError
// for what the server did, and the context's.
func Open(ctx context.Context, arm bench.Arm, opts Options) (*Client, error) {
	opts = opts.withDefaults()
	addr, message := parseAddress(arm.URL)
	if message != "" {
		return nil, &ArmError{Arm: arm.Name, Field: "url", Message: message}
	}
	if err := checkBody(arm); err != nil {
		return nil, err
	}
	key := ""
	if arm.KeyEnv != "" {
		if key = opts.Getenv(arm.KeyEnv); key == "" {
			return nil, &ArmError{Arm: arm.Name, Field: "key_env", Message: "the environment variable " + arm.KeyEnv + " is empty or not set"}
		}
	}
	c := &Client{arm: arm, opts: opts, addr: addr, key: key, conns: newTransport(opts)}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &http.Client{Transport: c.conns, CheckRedirect: noRedirect}
	config := openai.DefaultConfig(key)
	config.BaseURL = addr.api
	config.HTTPClient = &http.Client{Transport: &tap{base: c.conns, agent: opts.UserAgent}, CheckRedirect: noRedirect}
	c.chat = openai.NewClientWithConfig(config)

	if err := c.ready(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// newTransport connects anew for each call. Proxies are used for other hosts only.
func newTransport(o Options) *http.Transport {
	return &http.Transport{
		Proxy: func(r *http.Request) (*url.URL, error) {
			if loopback(r.URL.Hostname()) {
				return nil, nil
			}
			return http.ProxyFromEnvironment(r)
		},
		DialContext:         o.dial,
		TLSHandshakeTimeout: o.DialTimeout,
		TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1: one stream, one connection
		DisableCompression:  true,
		// A connection for each call. Servers close idle ones without a word, some
		// right after an answer; a request that meets such a close looks like a
		// server that died, and must not be sent twice.
		DisableKeepAlives: true,
		ReadBufferSize:    64 << 10,
	}
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Observed returns what the server was at Open, with what was learnt of it since.
func (c *Client) Observed() bench.Observed {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.observed
}

// Close gives up the connections. Responses under way are not stopped: their
// contexts do that.
func (c *Client) Close() { c.conns.CloseIdleConnections() }
