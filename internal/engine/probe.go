package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"assay/internal/bench"
	"assay/internal/wire"
)

// probeBytes bounds an answer of a probe: a long chat template and a router's
// list of models fit well.
const probeBytes = 8 << 20

// page is the answer to a probe with status 200.
type page struct {
	header http.Header
	body   []byte
}

// get fetches one endpoint. Every status but 200 is a *bench.EngineError.
func (c *Client) get(ctx context.Context, url string) (page, error) {
	probe, cancel := context.WithTimeout(ctx, c.opts.ProbeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(probe, http.MethodGet, url, nil)
	if err != nil {
		return page{}, fmt.Errorf("probe of %s: %w", url, err)
	}
	req.Header.Set("User-Agent", c.opts.UserAgent)
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return page{}, c.probeFault(ctx, url, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, probeBytes+1))
	switch {
	case err != nil:
		return page{}, c.probeFault(ctx, url, err)
	case len(body) > probeBytes:
		return page{}, &bench.EngineError{Fault: bench.FaultTooLarge, URL: url, Status: resp.StatusCode, Message: fmt.Sprintf("the answer is over %d bytes", probeBytes)}
	case resp.StatusCode != http.StatusOK:
		return page{}, c.blame(url, wire.StatusError(resp.StatusCode, resp.Header.Get("Retry-After"), time.Now(), body))
	}
	return page{header: resp.Header, body: body}, nil
}

// probeFault tells the end of the caller's context from a server that does not
// answer.
func (c *Client) probeFault(ctx context.Context, url string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("probe of %s: %w", url, ctx.Err())
	}
	message := "is the server running?"
	if errors.Is(err, context.DeadlineExceeded) {
		message = fmt.Sprintf("no answer within %s", c.opts.ProbeTimeout)
	}
	return &bench.EngineError{Fault: bench.FaultUnreachable, URL: url, Message: message, Err: cause(err)}
}

// blame completes an error of package wire. A server may repeat the key in its
// words; an error never does.
func (c *Client) blame(url string, e *bench.EngineError) *bench.EngineError {
	e.URL = url
	if c.key != "" {
		e.Message = strings.ReplaceAll(e.Message, c.key, "[key]")
	}
	return e
}

// ready reads the server back, again while it loads its model.
func (c *Client) ready(ctx context.Context) error {
	deadline := time.Now().Add(c.opts.LoadWait)
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		_, err := c.Observe(ctx)
		var e *bench.EngineError
		if !errors.As(err, &e) || e.Fault != bench.FaultLoading {
			return err
		}
		wait := max(pause, min(e.RetryAfter, 10*time.Second))
		if left := time.Until(deadline); left <= 0 {
			if c.opts.LoadWait > 0 {
				e.Message += fmt.Sprintf(" (waited %s)", c.opts.LoadWait)
			}
			return e
		} else if wait > left {
			wait = left
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("waiting for %s to load its model: %w", c.addr.root, ctx.Err())
		case <-timer.C:
		}
	}
}
