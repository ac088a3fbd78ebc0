package engine

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/internal/bench"
)

func TestAddress(t *testing.T) {
	for raw, want := range map[string]string{
		"http://h:1":                         "http://h:1",
		"http://h:1/":                        "http://h:1",
		"http://h:1/v1":                      "http://h:1",
		"http://h:1/v1/":                     "http://h:1",
		"https://h/proxy/v1":                 "https://h/proxy",
		"http://h:1/v1/chat/completions":     "http://h:1",
		"":                                   "!missing",
		"h:1":                                "!must begin",
		"ftp://h":                            "!must begin",
		"http://":                            "!names no host",
		"http://user:pw@h":                   "!credentials",
		"http://h?x=1":                       "!base URL",
		"http://a b":                         "!not a URL",
		"http://[::1]:8080/v1":               "http://[::1]:8080",
		"http://user:secret%zz@h/v1":         "!not a URL",
		"http://127.0.0.1:8080/engines/q/v1": "http://127.0.0.1:8080/engines/q",
	} {
		a, message := parseAddress(raw)
		if refused, ok := strings.CutPrefix(want, "!"); ok {
			if !strings.Contains(message, refused) || strings.Contains(message, "secret") {
				t.Errorf("%q: message %q, want %q", raw, message, refused)
			}
			continue
		}
		if message != "" || a.root != want || a.api != want+"/v1" {
			t.Errorf("%q: %+v %q, want root %q", raw, a, message, want)
		}
	}
}

func TestOpenReadsBack(t *testing.T) {
	tests := []struct {
		name string
		fake *fake
		arm  bench.Arm
		want bench.Observed
	}{
		{"llama.cpp", &fake{}, bench.Arm{}, bench.Observed{
			Kind: KindLlamaCPP, Build: "b1-abc", Model: testModel, Served: []string{testModel}, ContextPerSlot: ptr[int64](8192), Slots: ptr[int64](2),
			TemplateDigest: bench.Digest([]byte("T")), ModelPath: "/m.gguf", Sampling: map[string]string{"temperature": "0.8", "top_k": "40"},
		}},
		{"alias named", &fake{props: text(404, "")}, bench.Arm{Model: "tiny"}, bench.Observed{Kind: KindLlamaCPP, Model: "tiny", Served: []string{testModel}}},
		{"scripted", &fake{props: text(200, `{"assay_scripted":true,"default_generation_settings":{"n_ctx":0}}`)}, bench.Arm{},
			bench.Observed{Kind: KindScripted, Simulated: true, Model: testModel, Served: []string{testModel}}},
		{"another server", &fake{
			models: func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Server", "uvicorn")
				text(200, `{"data":[{"id":"b","max_model_len":4096},{"id":"a"}]}`)(w, r)
			},
			props: text(404, `{"detail":"Not Found"}`),
		}, bench.Arm{Model: "b"}, bench.Observed{Kind: KindOpenAI, Model: "b", Served: []string{"a", "b"}, ContextPerSlot: ptr[int64](4096)}},
		{"a list that is empty", &fake{models: text(200, `{"data":[]}`), props: text(404, "")}, bench.Arm{Model: "x"}, bench.Observed{Kind: KindLlamaCPP, Model: "x"}},
		{"foreign props", &fake{
			models: func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Server", "x")
				text(200, `{"data":[{"id":"a"}]}`)(w, r)
			},
			props: text(503, "busy"),
		}, bench.Arm{}, bench.Observed{Kind: KindOpenAI, Model: "a", Served: []string{"a"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, tt.fake, tt.arm, Options{})
			if diff := cmp.Diff(tt.want, c.Observed()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOpenRecordedServer(t *testing.T) {
	f := &fake{}
	for _, r := range recordings(t) {
		switch r.Name {
		case "base/v1-models":
			f.models = text(r.Status, string(r.Body))
		case "base/props":
			f.props = text(r.Status, string(r.Body))
		}
	}
	o := start(t, f, bench.Arm{}, Options{}).Observed()
	if o.Build != "b10587-3f545becc" || o.Model != testModel || *o.ContextPerSlot != 8192 || *o.Slots != 1 ||
		o.Sampling["top_p"] != "0.95" || o.Sampling["min_p"] != "0.05" || o.Sampling["repeat_penalty"] != "1" {
		t.Errorf("observed %+v", o)
	}
}

func TestOpenFaults(t *testing.T) {
	tests := []struct {
		name  string
		fake  *fake
		arm   bench.Arm
		fault bench.EngineFault
		words []string
	}{
		{"unauthorised", &fake{models: text(401, `{"error":{"message":"Invalid API Key","type":"authentication_error","code":401}}`)}, bench.Arm{}, bench.FaultUnauthorised, []string{"Invalid API Key", "HTTP 401"}},
		{"not found", &fake{models: text(404, `{"error":{"message":"File Not Found"}}`)}, bench.Arm{}, bench.FaultNotFound, []string{"File Not Found"}},
		{"server error", &fake{models: text(500, `<html>oops</html>`)}, bench.Arm{}, bench.FaultServer, []string{"oops"}},
		{"not JSON", &fake{models: text(200, `<html>hello</html>`)}, bench.Arm{}, bench.FaultProtocol, []string{"no list of models"}},
		{"JSON of something else", &fake{models: text(200, `{"status":"ok"}`)}, bench.Arm{}, bench.FaultProtocol, []string{"no list of models"}},
		{"redirect", &fake{models: text(302, ``)}, bench.Arm{}, bench.FaultProtocol, []string{"redirect"}},
		{"model not served", &fake{}, bench.Arm{Model: "other"}, bench.FaultNotFound, []string{`"other"`, testModel}},
		{"several served", &fake{models: text(200, `{"data":[{"id":"b"},{"id":"a"}]}`)}, bench.Arm{}, bench.FaultNotFound, []string{"a, b", "names none"}},
		{"none served", &fake{models: text(200, `{"data":[]}`)}, bench.Arm{}, bench.FaultNotFound, []string{"set model"}},
		{"loading", &fake{models: text(503, `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`)}, bench.Arm{}, bench.FaultLoading, []string{"Loading model"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := httptest.NewServer(tt.fake)
			defer s.Close()
			tt.arm.URL = s.URL
			_, err := Open(t.Context(), tt.arm, Options{})
			e := faultOf(t, err)
			if e.Fault != tt.fault {
				t.Errorf("fault %s, want %s", e.Fault, tt.fault)
			}
			for _, w := range tt.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
		})
	}
}

func TestOpenServerDown(t *testing.T) {
	s := httptest.NewServer(&fake{})
	s.Close()
	_, err := Open(t.Context(), bench.Arm{URL: s.URL}, Options{})
	if e := faultOf(t, err); e.Fault != bench.FaultUnreachable || strings.Count(err.Error(), s.URL) != 1 {
		t.Errorf("error %v", err)
	}
}

func TestOpenBadArm(t *testing.T) {
	nan := 0.0
	nan /= nan
	for _, tt := range []struct {
		arm   bench.Arm
		field string
		words string
	}{
		{bench.Arm{}, "url", "missing"},
		{bench.Arm{URL: "http://h", KeyEnv: "NO_KEY"}, "key_env", "NO_KEY"},
		{bench.Arm{URL: "http://h", ExtraBody: raws("messages", `[]`, "stream", `false`, "tools", `[]`)}, "extra_body", "messages cannot be set (the agent writes them); stream cannot"},
		{bench.Arm{URL: "http://h", ExtraBody: raws("top_k", `1`), Sampling: bench.Sampling{TopK: ptr[int64](2)}}, "extra_body", "top_k is set in sampling too"},
		{bench.Arm{URL: "http://h", ExtraBody: raws("x", `{`)}, "extra_body", "x is not JSON"},
		{bench.Arm{URL: "http://h", Sampling: bench.Sampling{TopP: &nan}}, "sampling", "finite"},
	} {
		_, err := Open(t.Context(), tt.arm, Options{})
		var e *ArmError
		if !errors.As(err, &e) || e.Field != tt.field || !strings.Contains(e.Message, tt.words) {
			t.Errorf("error %v, want field %s with %q", err, tt.field, tt.words)
		}
	}
}

// A server that loads its model is waited for, up to the limit and no longer.
func TestOpenWaitsForLoading(t *testing.T) {
	loading := text(503, `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`)
	for _, tt := range []struct {
		name  string
		ready time.Duration
		ok    bool
	}{{"in time", 40 * time.Second, true}, {"too late", 90 * time.Second, false}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				f := &fake{}
				f.models = func(w http.ResponseWriter, r *http.Request) {
					if time.Since(began) < tt.ready {
						loading(w, r)
						return
					}
					text(200, `{"data":[{"id":"m"}]}`)(w, r)
				}
				c, err := Open(t.Context(), bench.Arm{URL: "http://memory"}, Options{LoadWait: time.Minute, dial: memory(t, f)})
				if tt.ok {
					if err != nil {
						t.Fatal(err)
					}
					c.Close()
				} else if e := faultOf(t, err); e.Fault != bench.FaultLoading || !strings.Contains(e.Message, "waited 1m0s") {
					t.Errorf("error %v", err)
				}
				if took := time.Since(began); took < min(tt.ready, time.Minute) || took > tt.ready+3*time.Second || took > 63*time.Second {
					t.Errorf("took %s", took)
				}
			})
		})
	}
}

func TestOpenStopsWaitingWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		f := &fake{models: text(503, `{"error":{"message":"Loading model"}}`)}
		_, err := Open(ctx, bench.Arm{URL: "http://memory"}, Options{LoadWait: time.Hour, dial: memory(t, f)})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

// A server that was started anew with another model is seen as changed; what
// requests name and what Observed says stays what it was.
func TestObserveKeepsWhatWasOpened(t *testing.T) {
	f := &fake{models: text(200, `{"data":[{"id":"first"}]}`), props: text(404, ""), chat: text(200, stream(`{"choices":[{"index":0,"delta":{"content":"hi"}}]}`)+"data: [DONE]\n\n")}
	c := start(t, f, bench.Arm{}, Options{})
	f.models = text(200, `{"data":[{"id":"second"}]}`)
	now, err := c.Observe(t.Context())
	if err != nil || now.Model != "second" {
		t.Fatalf("error %v, now %+v", err, now)
	}
	if c.Observed().Model != "first" || c.Observed().Changed(now) == "" {
		t.Errorf("observed %+v", c.Observed())
	}
	r, err := c.Respond(t.Context(), request)
	if err != nil || !strings.Contains(string(r.RequestBody), `"model":"first"`) {
		t.Errorf("error %v, request %s", err, r.RequestBody)
	}
}

// A look that sees less than the one before forgets nothing: what changes behind
// it is found by the next. What was not known is filled in.
func TestObserveForgetsNothing(t *testing.T) {
	f := &fake{props: text(200, `{"build_info":"b1","chat_template":"T"}`)}
	c := start(t, f, bench.Arm{}, Options{})
	look := func(props string, status int) bench.Observed {
		t.Helper()
		f.props = text(status, props)
		now, err := c.Observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	if now := look("", 404); now.TemplateDigest != "" || c.Observed().Changed(now) != "" {
		t.Errorf("now %+v", now)
	}
	look(`{"build_info":"b1","total_slots":3}`, 200)
	if o := c.Observed(); o.Slots == nil || *o.Slots != 3 || o.TemplateDigest != bench.Digest([]byte("T")) {
		t.Errorf("observed %+v", o)
	}
	if now := look(`{"build_info":"b1","chat_template":"U"}`, 200); c.Observed().Changed(now) == "" {
		t.Errorf("another template was not seen: %+v", now)
	}
}

// A server that does not answer /props once is not another kind of server.
func TestAMissingDescriptionIsNoChange(t *testing.T) {
	f := &fake{props: text(200, `{"assay_scripted":true,"total_slots":1}`)}
	c := start(t, f, bench.Arm{}, Options{})
	f.props = text(500, "busy")
	now, err := c.Observe(t.Context())
	if err != nil || c.Observed().Changed(now) != "" {
		t.Errorf("error %v, change %q", err, c.Observed().Changed(now))
	}
}
