package engine

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"assay/internal/bench"
	"assay/internal/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testModel = "tiny-stories"

// fake is a model server whose answers a test scripts. Nil parts answer as
// llama-server does for one loaded model.
type fake struct {
	models, props, chat http.HandlerFunc
	mu                  sync.Mutex
	bodies              []string // of chat requests
	headers             []http.Header
	remotes             []string
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Server", "llama.cpp")
	switch r.URL.Path {
	case "/v1/models":
		serve(w, r, f.models, `{"object":"list","data":[{"id":"tiny-stories","aliases":["tiny"]}]}`)
	case "/props":
		serve(w, r, f.props, `{"default_generation_settings":{"n_ctx":8192,"params":{"temperature":0.800000011920929,"top_k":40}},"total_slots":2,"build_info":"b1-abc","chat_template":"T","model_path":"/m.gguf"}`)
	case "/v1/chat/completions":
		body, _ := io.ReadAll(r.Body)
		f.mu.Lock()
		f.bodies = append(f.bodies, string(body))
		f.headers = append(f.headers, r.Header.Clone())
		f.remotes = append(f.remotes, r.RemoteAddr)
		f.mu.Unlock()
		serve(w, r, f.chat, stream(`{"choices":[{"index":0,"delta":{"content":"hi"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)+"data: [DONE]\n\n")
	default:
		http.NotFound(w, r)
	}
}

func serve(w http.ResponseWriter, r *http.Request, h http.HandlerFunc, otherwise string) {
	if h != nil {
		h(w, r)
		return
	}
	_, _ = io.WriteString(w, otherwise)
}

func stream(events ...string) string {
	out := ""
	for _, e := range events {
		out += "data: " + e + "\n\n"
	}
	return out
}

func text(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// start serves f on loopback and opens a client on it.
func start(t *testing.T, f *fake, arm bench.Arm, opts Options) *Client {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	arm.URL = s.URL
	c, err := Open(t.Context(), arm, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// memory serves f over in-memory connections, which a synctest bubble can wait
// on, and returns the way to dial it.
func memory(t *testing.T, f http.Handler) func(context.Context, string, string) (net.Conn, error) {
	t.Helper()
	l := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
	s := &http.Server{Handler: f}
	served := make(chan struct{})
	go func() { defer close(served); _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close(); <-served })
	return l.dial
}

type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	a, b := net.Pipe()
	select {
	case l.conns <- b:
		return a, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "pipe"} }

func recordings(t *testing.T) []wiretest.Recording {
	t.Helper()
	r, err := wiretest.Load("../wire/testdata/llamacpp")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func faultOf(t *testing.T, err error) *bench.EngineError {
	t.Helper()
	var e *bench.EngineError
	if !errors.As(err, &e) {
		t.Fatalf("error is %T %v, want *bench.EngineError", err, err)
	}
	return e
}

func ptr[T any](v T) *T { return &v }
