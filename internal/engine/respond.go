package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"assay/internal/bench"
	"assay/internal/wire"
)

// linger is how long the end of the body is waited for once the end mark or a
// fault was read. What follows changes nothing; it is read to keep the raw bytes.
const linger = 250 * time.Millisecond

var (
	errIdle   = errors.New("idle limit")
	errLinger = errors.New("answer settled")
)

// Respond asks for one chat completion and reads the answer to its end. Beside an
// error the response holds what came until then. The errors are
// *bench.EngineError; once ctx has ended, its error, wrapped.
func (c *Client) Respond(ctx context.Context, r bench.Request) (bench.Response, error) {
	c.mu.Lock()
	model := c.model
	c.mu.Unlock()
	over, err := c.overlay(r, model)
	if err != nil {
		return bench.Response{}, fmt.Errorf("request to %s: %w", c.chatURL(), err)
	}

	call, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(c.opts.Idle, func() { cancel(errIdle) })
	defer idle.Stop()
	x := &exchange{over: over, cap: c.opts.RawCap, parser: wire.NewParser(wire.Limits{DocumentBytes: int(c.opts.RawCap)})}
	x.touched = func() { idle.Reset(c.opts.Idle) }

	// go-openai's stream is not read: the exchange holds the answer. Of an error
	// status go-openai has read it already.
	_, err = c.chat.CreateChatCompletionStream(x.context(call), chatRequest(r))
	if x.body != nil {
		defer x.Close()
		x.readAll(func() *time.Timer {
			idle.Stop()
			x.touched = func() {}
			return time.AfterFunc(linger, func() { cancel(errLinger) })
		})
	}
	return c.conclude(ctx, call, x, err)
}

// conclude says what an exchange was. What we did to it ourselves (limits, the
// caller's end) comes before what it looks like from outside.
func (c *Client) conclude(ctx, call context.Context, x *exchange, sendErr error) (bench.Response, error) {
	resp, parseErr := x.parser.End(x.last)
	if !c.Observed().Simulated {
		resp.Simulated = nil // only our own engine's word replaces the clock
	}
	resp.RequestBody, resp.RawTotal, resp.Status = x.sent, x.total, x.status
	resp.Raw = x.raw
	if c.key != "" && bytes.Contains(x.raw, []byte(c.key)) {
		// A key is never stored, not even where a server repeats it.
		resp.Raw = bytes.ReplaceAll(x.raw, []byte(c.key), []byte("[key]"))
	}
	resp.Marks.Start = x.began()
	if x.total == 0 {
		resp.Marks.End = nil
	}
	u := c.chatURL()
	fault := func(f bench.EngineFault, err error, format string, args ...any) error {
		return c.blame(u, &bench.EngineError{Fault: f, Status: x.status, Message: fmt.Sprintf(format, args...), Err: err})
	}
	switch {
	case x.status == http.StatusOK && parseErr == nil && resp.Complete && !x.tooLarge && !truncatedDocument(x, resp):
		c.learn(resp)
		return resp, nil
	case x.tooLarge:
		resp.Complete = false
		return resp, fault(bench.FaultTooLarge, nil, "the answer is over the limit answer_bytes of %d bytes (%s): %d bytes were read", x.cap, c.opts.capOrigin, x.total)
	case ctx.Err() != nil:
		return resp, fmt.Errorf("chat completion at %s: %w", u, ctx.Err())
	case errors.Is(context.Cause(call), errIdle):
		resp.Complete = false
		return resp, fault(bench.FaultIdle, nil, "no token, progress or ping for %s (idle_seconds)", c.opts.Idle)
	case x.status == 0:
		return resp, fault(bench.FaultUnreachable, cause(sendErr), "no answer")
	case x.status != http.StatusOK:
		return resp, c.blame(u, wire.StatusError(x.status, x.header.Get("Retry-After"), time.Now(), x.raw))
	}
	var e *bench.EngineError
	if !errors.As(parseErr, &e) {
		// A document whose connection broke after its last byte.
		resp.Complete = false
		return resp, fault(bench.FaultCut, cause(x.ended), "the connection broke inside the answer")
	}
	e.Status = x.status
	if e.Fault == bench.FaultCut && x.ended != nil && !errors.Is(x.ended, io.EOF) {
		e.Err = cause(x.ended)
	}
	return resp, c.blame(u, e)
}

// truncatedDocument reports a document that reads whole although the body did
// not end cleanly: what is missing may be more than blanks.
func truncatedDocument(x *exchange, resp bench.Response) bool {
	return !resp.Streamed && !errors.Is(x.ended, io.EOF)
}

// learn keeps the build that a server names only in its answers.
func (c *Client) learn(r bench.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.observed.Build == "" {
		c.observed.Build = r.Fingerprint
	}
}

func (c *Client) chatURL() string { return c.addr.api + "/chat/completions" }

// cause takes the method and URL off an error of net/http: an EngineError names
// them already.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

func setBody(req *http.Request, body []byte) {
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.ContentLength = int64(len(body))
}
