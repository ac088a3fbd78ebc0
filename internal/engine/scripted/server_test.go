package scripted

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestServeRefuses(t *testing.T) {
	good := card(program(Turn{Text: "x"}))
	bad := Profile{Speed: Speed{DecodeTPS: -1}, Programs: []Program{{Turns: []Turn{{Finish: "soon"}}}}}
	for _, tt := range []struct {
		name, addr string
		p          Profile
		want       []string
	}{
		{"open address", "0.0.0.0:0", good, []string{"0.0.0.0:0", "127.0.0.1"}},
		{"no host", ":0", good, []string{"127.0.0.1"}},
		{"no address", "nonsense", good, []string{"nonsense"}},
		{"profile", "127.0.0.1:0", bad, []string{"model", "prefill_tps", "decode_tps", "name", "soon"}},
	} {
		s, err := Serve(t.Context(), tt.addr, tt.p)
		if err == nil {
			t.Errorf("%s: served at %s", tt.name, s.URL())
			_ = s.Close(t.Context())
			continue
		}
		for _, w := range tt.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not say %q", tt.name, err, w)
			}
		}
	}
}

func TestKey(t *testing.T) {
	p := card(program(Turn{Text: "x"}))
	p.Key = "right"
	s := start(t, p)
	for _, tt := range []struct {
		path   string
		header []string
		want   int
	}{
		{"/health", nil, 200},
		{"/v1/models", nil, 401},
		{"/slots", []string{"Authorization", "Bearer wrong"}, 401},
		{"/nowhere", nil, 401},
		{"/v1/models", []string{"Authorization", "Bearer right"}, 200},
		{"/v1/models", []string{"X-Api-Key", "right"}, 200},
	} {
		if r := do(t, "GET", s.URL()+tt.path, "", tt.header...); r.status != tt.want {
			t.Errorf("%s %v: status %d, want %d", tt.path, tt.header, r.status, tt.want)
		}
	}
}

func TestSaysWhatItIs(t *testing.T) {
	p := card(program(Turn{Text: "The answer is short."}))
	p.ContextPerSlot, p.Slots = 4096, 2
	p.Speed.DraftDepth, p.Speed.Acceptance = 2, 1
	s := start(t, p)

	var props struct {
		Settings struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Slots    int    `json:"total_slots"`
		Build    string `json:"build_info"`
		Template string `json:"chat_template"`
		Scripted bool   `json:"assay_scripted"`
	}
	r := do(t, "GET", s.URL()+"/props", "")
	if err := json.Unmarshal(r.body, &props); err != nil {
		t.Fatal(err)
	}
	if !props.Scripted || props.Settings.Context != 4096 || props.Slots != 2 || props.Build != Build || props.Template == "" {
		t.Errorf("props %s", r.body)
	}
	if got := r.header.Get("Server"); got != "assay-scripted" {
		t.Errorf("Server: %q", got)
	}

	d := decodeOne(t, ask(t, s, "t", "").body)
	text := string(do(t, "GET", s.URL()+"/metrics", "").body)
	for name, want := range map[string]any{
		"prompt_tokens_total":                   d.Timings.PromptN,
		"tokens_predicted_total":                d.Timings.N,
		"spec_decode_num_draft_tokens_total":    *d.Timings.DraftN,
		"spec_decode_num_accepted_tokens_total": *d.Timings.Accepted,
		"requests_processing":                   0,
	} {
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if line := "\nllamacpp:" + name + " " + string(b) + "\n"; !strings.Contains(text, line) {
			t.Errorf("metrics lack %q:\n%s", line, text)
		}
	}

	var list []struct {
		Context int   `json:"n_ctx"`
		Busy    bool  `json:"is_processing"`
		Prompt  int64 `json:"n_prompt_tokens"`
	}
	if err := json.Unmarshal(do(t, "GET", s.URL()+"/slots?fail_on_no_slot=1", "").body, &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0].Context != 4096 || list[0].Busy || list[0].Prompt != d.Usage.Prompt {
		t.Errorf("slots %+v", list)
	}
}

func TestTokenize(t *testing.T) {
	s := start(t, card(program()))
	var got struct {
		Tokens []struct {
			ID    int    `json:"id"`
			Piece string `json:"piece"`
		} `json:"tokens"`
	}
	const text = "Once upon a 日本語 café 🎈"
	b := do(t, "POST", s.URL()+"/tokenize", `{"content":"`+text+`","with_pieces":true}`).body
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	joined := ""
	for _, p := range got.Tokens {
		joined += p.Piece
	}
	if joined != text || len(got.Tokens) != countTokens(text) {
		t.Errorf("tokens %s", b)
	}
	var plain struct {
		Tokens []int `json:"tokens"`
	}
	if err := json.Unmarshal(do(t, "POST", s.URL()+"/tokenize", `{"content":"Once"}`).body, &plain); err != nil || len(plain.Tokens) != 1 {
		t.Errorf("plain tokens %v, %v", plain.Tokens, err)
	}
	if r := do(t, "POST", s.URL()+"/tokenize", `{"content":5}`); r.status != 400 {
		t.Errorf("status %d", r.status)
	}
}

func TestClosesWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Serve(ctx, "127.0.0.1:0", card(program()))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-s.served
	for range 2 {
		if err := s.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// pipes is a listener over connections in memory, for virtual time.
type pipes struct {
	dials  atomic.Int64
	accept chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (p *pipes) client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			p.dials.Add(1)
			ours, theirs := net.Pipe()
			p.accept <- theirs
			return ours, nil
		},
	}}
}

func realTime(t *testing.T, p Profile, use func(*testing.T, *Server, *http.Client)) {
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{accept: make(chan net.Conn), closed: make(chan struct{})}
		s := serve(t.Context(), l, p)
		client := l.client()
		use(t, s, client)
		client.CloseIdleConnections()
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func realCard() Profile {
	p := card(program(Turn{Text: strings.Repeat("word", 300)}))
	p.Pace = Real
	p.Speed.DraftDepth, p.Speed.Acceptance = 2, 0.5
	return p
}

// The stream comes exactly when its timings say.
func TestRealPace(t *testing.T) {
	const body = `{"messages":[{"role":"user","content":"a question that is long enough to take time"}],"stream":true,"timings_per_token":true,"return_progress":true}`
	realTime(t, realCard(), func(t *testing.T, s *Server, client *http.Client) {
		begin := time.Now()
		res, err := client.Post(s.URL()+"/v1/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if d := time.Since(begin); d != 0 {
			t.Errorf("headers after %v, want at once", d)
		}
		seen, last := 0, decoded{}
		reader := json.NewDecoder(&eventReader{body: res.Body})
		for reader.More() {
			var d decoded
			if err := reader.Decode(&d); err != nil {
				t.Fatal(err)
			}
			now := time.Since(begin)
			if d.Timings == nil || len(d.Choices[0].Delta.Content) == 0 {
				if d.Timings != nil {
					last = d
				}
				continue
			}
			seen++
			want := time.Duration((d.Timings.PromptMS + d.Timings.MS) * 1e6)
			if off := now - want; off.Abs() > time.Microsecond {
				t.Fatalf("token %d after %v, timings say %v", d.Timings.N, now, want)
			}
		}
		if seen != 300 || last.Simulated != nil {
			t.Errorf("%d tokens, simulated %v", seen, last.Simulated)
		}
	})
}

// Neither a slow answer nor a pause runs into the deadline of an earlier moment,
// that of reading a request or of writing the answer before.
func TestDeadlinesMoveOn(t *testing.T) {
	p := realCard()
	p.Speed = Speed{PrefillTPS: 0.1, DecodeTPS: 0.5}
	realTime(t, p, func(t *testing.T, s *Server, client *http.Client) {
		for _, fields := range []string{`"max_tokens":100`, `"stream":true,"max_tokens":100`} {
			for range 2 {
				res, err := client.Post(s.URL()+"/v1/chat/completions", "application/json",
					strings.NewReader(`{"messages":[{"role":"user","content":"hi"}],`+fields+`}`))
				if err != nil {
					t.Fatal(err)
				}
				b, err := io.ReadAll(res.Body)
				if err != nil || !strings.Contains(string(b), `"length"`) {
					t.Fatalf("%v after %.100s", err, b)
				}
				time.Sleep(idleTimeout - time.Second)
				res, err = client.Get(s.URL() + "/metrics")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, res.Body); err != nil {
					t.Fatal(err)
				}
			}
		}
		// The client dials again, silently, where a connection has failed.
		if n := s.listener.(*pipes).dials.Load(); n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
	})
}

func TestRealPaceWhole(t *testing.T) {
	realTime(t, realCard(), func(t *testing.T, s *Server, client *http.Client) {
		begin := time.Now()
		res, err := client.Post(s.URL()+"/v1/chat/completions", "application/json", strings.NewReader(`{"messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var d decoded
		if err := json.NewDecoder(res.Body).Decode(&d); err != nil {
			t.Fatal(err)
		}
		want := time.Duration((d.Timings.PromptMS + d.Timings.MS) * 1e6)
		if off := time.Since(begin) - want; off.Abs() > time.Microsecond {
			t.Errorf("answered after %v, timings say %v", time.Since(begin), want)
		}
	})
}

// A client that goes away frees its slot, and one that waits gets it.
func TestSlotsQueue(t *testing.T) {
	realTime(t, realCard(), func(t *testing.T, s *Server, client *http.Client) {
		const body = `{"messages":[{"role":"user","content":"hi"}],"stream":true}`
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, "POST", s.URL()+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		first, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			res, err := client.Post(s.URL()+"/v1/chat/completions", "application/json", strings.NewReader(body))
			if err == nil {
				err = res.Body.Close()
			}
			done <- err
		}()
		synctest.Wait()
		if _, waiting := s.slots.view(); waiting != 1 || s.slots.busy() != 1 {
			t.Errorf("%d waiting, %d busy; want 1 and 1", waiting, s.slots.busy())
		}
		res, err := client.Get(s.URL() + "/slots?fail_on_no_slot=1")
		if err != nil {
			t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("no slot: status %d", res.StatusCode)
		}
		cancel()
		first.Body.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// eventReader turns a stream into the JSON of its events.
type eventReader struct {
	body interface{ Read([]byte) (int, error) }
	rest []byte
}

func (r *eventReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		buf := make([]byte, 64<<10)
		n, err := r.body.Read(buf)
		if n == 0 {
			return 0, err
		}
		r.rest = []byte(strings.NewReplacer("data: [DONE]", "", "data: ", "").Replace(string(buf[:n])))
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
