package engine

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"assay/internal/wire"
)

// exchange is one request with its answer, as the round tripper sees them. It
// travels in the request's context.
type exchange struct {
	over    []bodyField
	cap     int64 // bytes of the answer
	parser  *wire.Parser
	touched func() // called at every read that brought bytes

	mu       sync.Mutex // start is stamped by the connection's goroutine
	start    time.Time
	sent     []byte
	status   int
	header   http.Header
	body     io.ReadCloser // the answer under the tap; nil: none came
	raw      []byte
	total    int64
	last     time.Duration // time of the last read
	tooLarge bool
	settled  bool  // the end mark or a fault was read: what follows changes nothing
	ended    error // of the body: io.EOF is its clean end; nil: still open
}

type exchangeKey struct{}

func (x *exchange) context(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, exchangeKey{}, x)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// The connection stands; what comes next is the first byte of the request.
		GotConn: func(httptrace.GotConnInfo) { x.begin(time.Now()) },
	})
}

func (x *exchange) begin(t time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.start = t
}

func (x *exchange) began() time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.start
}

var errTooLarge = errors.New("answer over the cap")

// Read reads the answer, stamps the moment at which the read returned, and only
// then parses.
func (x *exchange) Read(b []byte) (int, error) {
	if x.tooLarge {
		return 0, errTooLarge
	}
	n, err := x.body.Read(b)
	x.last = time.Since(x.began())
	if n > 0 {
		x.touched()
		x.total += int64(n)
		keep := b[:min(int64(n), max(0, x.cap-int64(len(x.raw))))]
		x.raw = append(x.raw, keep...)
		if x.status == http.StatusOK {
			x.settled = x.parser.Feed(keep, x.last) != nil || x.parser.Complete()
		}
		if x.total > x.cap {
			x.tooLarge = true
			return n, errTooLarge
		}
	}
	if err != nil {
		x.ended = err
	}
	return n, err
}

// Close closes the answer.
func (x *exchange) Close() error { return x.body.Close() }

// readAll reads the answer to its end. Once what it says is settled, it calls
// settled and goes on, so that the raw bytes are whole.
func (x *exchange) readAll(settled func() *time.Timer) {
	var wait *time.Timer
	for buf := make([]byte, 64<<10); x.ended == nil && !x.tooLarge; {
		if _, err := x.Read(buf); err != nil {
			break
		}
		if wait == nil && x.settled {
			wait = settled()
		}
	}
	if wait != nil {
		wait.Stop()
	}
}

// tap is the round tripper between go-openai and the connections.
type tap struct {
	base  http.RoundTripper
	agent string
}

// RoundTrip lays the exchange's fields over the body and puts the exchange under
// the answer.
func (t *tap) RoundTrip(req *http.Request) (*http.Response, error) {
	x, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errors.New("request without exchange")
	}
	typed, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	_ = req.Body.Close() // bytes in memory
	body, err := merge(typed, x.over)
	if err != nil {
		return nil, err
	}
	x.sent = body
	req = req.Clone(req.Context())
	setBody(req, body)
	req.Header.Set("User-Agent", t.agent)
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	x.touched()
	x.status, x.header, x.body = resp.StatusCode, resp.Header, resp.Body
	resp.Body = x
	return resp, nil
}
