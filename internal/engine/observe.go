package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"assay/internal/bench"
)

// The kinds of server that are told apart.
const (
	KindLlamaCPP = "llama.cpp"
	KindOpenAI   = "openai"
	KindScripted = "scripted"
)

// Observe reads back what the server runs now: /v1/models and, where the server
// has it, llama.cpp's /props. Observed takes over what was not known before; of a
// server that is another one now it takes nothing, and requests name the model
// that Open settled.
func (c *Client) Observe(ctx context.Context) (bench.Observed, error) {
	list := c.addr.api + "/models"
	answer, err := c.get(ctx, list)
	if err != nil {
		return bench.Observed{}, err
	}
	models, err := parseModels(answer.body)
	if err != nil {
		return bench.Observed{}, &bench.EngineError{Fault: bench.FaultProtocol, URL: list, Status: 200, Message: "the answer is no list of models: is this an OpenAI-compatible server?", Err: err}
	}
	o := bench.Observed{Kind: KindOpenAI, Served: models.ids()}
	model, fault := resolve(c.arm.Model, models)
	if fault != nil {
		return bench.Observed{}, c.blame(list, fault)
	}
	o.Model = model
	o.ContextPerSlot = models.maxLength(model)

	llama := answer.header.Get("Server") == KindLlamaCPP
	props, found, err := c.props(ctx, c.addr.root+"/props")
	if err != nil && (llama || ctx.Err() != nil) {
		return bench.Observed{}, err
	}
	if found && props.Role == "router" && model != "" {
		// A router answers for a model that is loaded; an unloaded one stays unknown.
		if p, ok, err := c.props(ctx, c.addr.root+"/props?model="+url.QueryEscape(model)); err == nil && ok {
			props = p
		}
	}
	if llama || (found && props.llama()) {
		o.Kind = KindLlamaCPP
	}
	if found {
		props.fill(&o)
	}

	c.mu.Lock()
	if !found && (c.observed.Kind == KindLlamaCPP || c.observed.Kind == KindScripted) {
		o.Kind = c.observed.Kind // what told the kinds apart did not answer this time
	}
	if o.Build == "" && c.observed.Model == o.Model {
		o.Build = c.observed.Build // learnt from an answer
	}
	if c.observed.Kind == "" { // the first look: what requests will name
		c.model = o.Model
	}
	if c.observed.Changed(o) == "" {
		c.observed = join(c.observed, o)
	}
	c.mu.Unlock()
	return o, nil
}

// join adds to what is known of a server what another look says. What that look
// did not see stays known: a later change is then still seen.
func join(known, now bench.Observed) bench.Observed {
	now.Kind = cmp.Or(now.Kind, known.Kind)
	now.Build = cmp.Or(now.Build, known.Build)
	now.Model = cmp.Or(now.Model, known.Model)
	now.TemplateDigest = cmp.Or(now.TemplateDigest, known.TemplateDigest)
	now.ModelPath = cmp.Or(now.ModelPath, known.ModelPath)
	now.ContextPerSlot = cmp.Or(now.ContextPerSlot, known.ContextPerSlot)
	now.Slots = cmp.Or(now.Slots, known.Slots)
	now.Simulated = now.Simulated || known.Simulated
	if now.Served == nil {
		now.Served = known.Served
	}
	if now.Sampling == nil {
		now.Sampling = known.Sampling
	}
	return now
}

// props reads llama.cpp's description of itself. A server without the endpoint
// is no fault.
func (c *Client) props(ctx context.Context, address string) (props, bool, error) {
	answer, err := c.get(ctx, address)
	var e *bench.EngineError
	if errors.As(err, &e) {
		if e.Fault == bench.FaultLoading || e.Fault == bench.FaultUnreachable {
			return props{}, false, err
		}
		return props{}, false, nil
	}
	if err != nil {
		return props{}, false, err
	}
	var p props
	if json.Unmarshal(answer.body, &p) != nil {
		return props{}, false, nil // some other service's /props
	}
	return p, true, nil
}

// props are the fields of llama.cpp's GET /props that are read.
type props struct {
	Scripted bool   `json:"assay_scripted"`
	Role     string `json:"role"` // "router" of a model-less server
	Build    string `json:"build_info"`
	Slots    *int64 `json:"total_slots"`
	Path     string `json:"model_path"`
	Template string `json:"chat_template"`
	Defaults struct {
		Context *int64                     `json:"n_ctx"`
		Params  map[string]json.RawMessage `json:"params"`
	} `json:"default_generation_settings"`
}

func (p props) llama() bool {
	return p.Defaults.Context != nil || p.Slots != nil || p.Build != ""
}

func (p props) fill(o *bench.Observed) {
	if p.Scripted {
		o.Kind, o.Simulated = KindScripted, true
	}
	o.Build, o.ModelPath = p.Build, p.Path
	o.Slots = positive(p.Slots)
	if n := positive(p.Defaults.Context); n != nil {
		o.ContextPerSlot = n
	}
	if p.Template != "" {
		o.TemplateDigest = bench.Digest([]byte(p.Template))
	}
	o.Sampling = sampling(p.Defaults.Params)
}

// positive drops zero: a context or slot count of 0 is a server that does not
// know.
func positive(n *int64) *int64 {
	if n == nil || *n <= 0 {
		return nil
	}
	return n
}

// samplerFields are the server's defaults that change what a model writes.
var samplerFields = []string{
	"temperature", "top_k", "top_p", "min_p", "typical_p", "top_n_sigma", "repeat_penalty", "repeat_last_n",
	"presence_penalty", "frequency_penalty", "dry_multiplier", "xtc_probability", "dynatemp_range", "mirostat", "samplers",
}

// sampling returns the defaults as text. llama.cpp holds them as 32-bit floats
// and prints all digits of the nearest 64-bit one; the short form names the same
// 32-bit value.
func sampling(params map[string]json.RawMessage) map[string]string {
	var out map[string]string
	for _, name := range samplerFields {
		v, ok := params[name]
		if !ok || string(v) == "null" {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = string(v)
		if f, err := strconv.ParseFloat(string(v), 64); err == nil && strings.Contains(string(v), ".") {
			out[name] = strconv.FormatFloat(f, 'g', -1, 32)
		}
	}
	return out
}

// models is a server's list of what it serves.
type models struct {
	Data []struct {
		ID        string   `json:"id"`
		Aliases   []string `json:"aliases"`
		MaxLength *int64   `json:"max_model_len"` // vLLM, SGLang
	} `json:"data"`
}

func parseModels(body []byte) (models, error) {
	var probe struct {
		Data *json.RawMessage `json:"data"`
	}
	var m models
	if err := json.Unmarshal(body, &probe); err != nil {
		return m, err
	}
	if probe.Data == nil {
		return m, errors.New("no field data")
	}
	return m, json.Unmarshal(body, &m)
}

func (m models) ids() []string {
	var out []string
	for _, d := range m.Data {
		out = append(out, d.ID)
	}
	slices.Sort(out)
	return slices.Compact(out) // some servers list one twice
}

func (m models) has(id string) bool {
	for _, d := range m.Data {
		if d.ID == id {
			return true
		}
		for _, a := range d.Aliases {
			if a == id {
				return true
			}
		}
	}
	return false
}

func (m models) maxLength(id string) *int64 {
	for _, d := range m.Data {
		if d.ID == id {
			return positive(d.MaxLength)
		}
	}
	return nil
}

// resolve settles the model id. A named one is never replaced: it is served, or
// the list is empty, or it is an error that names what is served.
func resolve(want string, m models) (string, *bench.EngineError) {
	ids := m.ids()
	switch {
	case want != "" && len(ids) > 0 && !m.has(want):
		return "", &bench.EngineError{Fault: bench.FaultNotFound, Status: 200, Message: fmt.Sprintf("model %q is not served here; served: %s", want, names(ids))}
	case want != "":
		return want, nil
	case len(ids) == 1:
		return ids[0], nil
	case len(ids) == 0:
		return "", &bench.EngineError{Fault: bench.FaultNotFound, Status: 200, Message: "the server lists no model and the arm names none: set model"}
	}
	return "", &bench.EngineError{Fault: bench.FaultNotFound, Status: 200, Message: fmt.Sprintf("%d models are served and the arm names none: set model to one of %s", len(ids), names(ids))}
}

// names prints ids for people; a long list is cut.
func names(ids []string) string {
	const most = 20
	more := ""
	if len(ids) > most {
		more = fmt.Sprintf(" and %d more", len(ids)-most)
		ids = ids[:most]
	}
	return strings.Join(ids, ", ") + more
}
