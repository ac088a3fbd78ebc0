package scripted

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Build names the behaviour of this engine in build_info and system_fingerprint.
// It changes when the same profile and request would play differently.
const Build = "scripted-1"

// Limits of the server.
const (
	maxBody       = 16 << 20
	maxHeader     = 64 << 10
	headerTimeout = 10 * time.Second
	readTimeout   = time.Minute // whole request
	writeTimeout  = time.Minute // one write of an answer
	idleTimeout   = 2 * time.Minute
	endGrace      = 2 * time.Second // for connections, once the context has ended
)

// Server is a running scripted engine.
type Server struct {
	profile Profile
	slots   *slots
	metrics *metrics
	started time.Time

	http     http.Server
	listener net.Listener
	stop     context.CancelFunc
	unhook   func() bool
	served   chan struct{} // closed when the accept loop has ended
	serveErr error         // read after served

	ending sync.Once
	closed error // read after ending
}

// Serve starts a server for one profile at addr ("127.0.0.1:0" takes a free port)
// and returns when it listens. Addresses that are not of this machine's loopback
// are refused unless the profile is Public. The server ends with ctx or Close;
// who starts it must call Close.
func Serve(ctx context.Context, addr string, p Profile) (*Server, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("scripted engine: profile %q: %w", p.Model, err)
	}
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("scripted engine: address %q: %w", addr, err)
	}
	if !p.Public && !tcp.IP.IsLoopback() {
		return nil, fmt.Errorf("scripted engine: address %q can be reached from other machines: use 127.0.0.1, or allow it with Public", addr)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", tcp.String())
	if err != nil {
		return nil, fmt.Errorf("scripted engine: %w", err)
	}
	return serve(ctx, l, p), nil
}

// serve starts the server on a listener, which it owns from then on.
func serve(ctx context.Context, l net.Listener, p Profile) *Server {
	p = p.withDefaults()
	inner, stop := context.WithCancel(ctx)
	s := &Server{
		profile:  p,
		slots:    newSlots(p.Slots),
		metrics:  &metrics{},
		started:  time.Now(),
		listener: l,
		stop:     stop,
		served:   make(chan struct{}),
	}
	s.http = http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return inner },
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	go func() {
		defer close(s.served)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.serveErr = err
		}
	}()
	s.unhook = context.AfterFunc(ctx, func() {
		// Answers under way have ctx too and end by themselves.
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), endGrace)
		defer cancel()
		s.end(grace)
	})
	return s
}

// URL is the base URL of the server, without a slash at its end.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Profile returns what is served, defaults filled in.
func (s *Server) Profile() Profile { return s.profile }

// Close ends the server: answers under way may finish until ctx ends and are cut
// then. It returns why the server had ended before, if it had. Closing again
// returns the same.
func (s *Server) Close(ctx context.Context) error {
	s.unhook()
	s.end(ctx)
	return s.closed
}

func (s *Server) end(ctx context.Context) {
	s.ending.Do(func() {
		if err := s.http.Shutdown(ctx); err != nil {
			s.stop()
			s.closed = s.http.Close()
		}
		s.stop()
		<-s.served
		s.closed = errors.Join(s.closed, s.serveErr)
	})
}

// handler is the chain that every request goes through. A wrapper that disturbs
// answers belongs between the headers and the key.
func (s *Server) handler() http.Handler {
	return s.withHeaders(s.withKey(s.routes()))
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", s.health)
	mux.HandleFunc("GET /v1/health", s.health)
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("GET /models", s.models)
	mux.HandleFunc("GET /props", s.props)
	mux.HandleFunc("GET /slots", s.listSlots)
	mux.HandleFunc("GET /metrics", s.showMetrics)
	mux.HandleFunc("POST /tokenize", s.tokenize)
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	mux.HandleFunc("POST /chat/completions", s.chat)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A wrong method is an unknown path here, as in llama.cpp.
		h, pattern := mux.Handler(r)
		if pattern == "" {
			s.fail(w, notFound())
			return
		}
		h.ServeHTTP(w, r)
	})
}

// withHeaders sets the headers that every answer has.
func (s *Server) withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Server", "assay-scripted")
		h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		h["Date"] = nil // llama.cpp sends none
		next.ServeHTTP(w, r)
	})
}

// withKey refuses requests without the profile's key. Only /health is open.
func (s *Server) withKey(next http.Handler) http.Handler {
	if s.profile.Key == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !bearer {
			key = r.Header.Get("X-Api-Key")
		}
		open := r.URL.Path == "/health" || r.URL.Path == "/v1/health"
		if !open && subtle.ConstantTimeCompare([]byte(key), []byte(s.profile.Key)) != 1 {
			s.fail(w, unauthorised())
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) fail(w http.ResponseWriter, e *apiError) {
	w.Header().Set("Connection", "close")
	writeJSON(w, e.status, e.body)
}

func (s *Server) succeed(w http.ResponseWriter, body any) {
	keepAlive(w)
	writeJSON(w, http.StatusOK, body)
}

func keepAlive(w http.ResponseWriter) {
	w.Header().Set("Keep-Alive", fmt.Sprintf("timeout=%d", int(idleTimeout.Seconds())))
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	b, err := marshal(body)
	if err != nil { // our own structs marshal
		status, b = http.StatusInternalServerError, []byte(`{"error":{"code":500,"message":"unprintable answer","type":"server_error"}}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Content-Length", fmt.Sprint(len(b)))
	w.WriteHeader(status)
	bound(http.NewResponseController(w))
	_, _ = w.Write(b) // a client that went away is its own business
}

// bound gives the next write its deadline.
func bound(c *http.ResponseController) {
	_ = c.SetWriteDeadline(time.Now().Add(writeTimeout)) // connections have one
}

// readBody reads a body up to maxBody.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *apiError) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, bodyTooLarge()
	case err != nil:
		return nil, badRequest("the body could not be read: %v", err)
	}
	return b, nil
}
