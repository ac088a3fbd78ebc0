package scripted

import (
	"encoding/json"
	"net/http"
)

// This file holds what the server says of itself.

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	s.succeed(w, struct {
		Status string `json:"status"`
	}{"ok"})
}

type modelList struct {
	Models [1]modelCard  `json:"models"`
	Object string        `json:"object"`
	Data   [1]modelEntry `json:"data"`
}

type modelCard struct {
	Name         string   `json:"name"`
	Model        string   `json:"model"`
	ModifiedAt   string   `json:"modified_at"`
	Size         string   `json:"size"`
	Digest       string   `json:"digest"`
	Type         string   `json:"type"`
	Description  string   `json:"description"`
	Tags         []string `json:"tags"`
	Capabilities []string `json:"capabilities"`
	Parameters   string   `json:"parameters"`
	Details      struct {
		ParentModel  string   `json:"parent_model"`
		Format       string   `json:"format"`
		Family       string   `json:"family"`
		Families     []string `json:"families"`
		Parameter    string   `json:"parameter_size"`
		Quantization string   `json:"quantization_level"`
	} `json:"details"`
}

type modelEntry struct {
	ID      string   `json:"id"`
	Aliases []string `json:"aliases"`
	Tags    []string `json:"tags"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	OwnedBy string   `json:"owned_by"`
	Meta    struct {
		VocabType bool   `json:"vocab_type"`
		Vocab     int    `json:"n_vocab"`
		Context   int    `json:"n_ctx"`
		Trained   int    `json:"n_ctx_train"`
		Embedding int    `json:"n_embd"`
		Params    int    `json:"n_params"`
		Size      int    `json:"size"`
		FType     string `json:"ftype"`
	} `json:"meta"`
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	p := s.profile
	card := modelCard{Name: p.Model, Model: p.Model, Type: "model", Tags: []string{""}, Capabilities: []string{"completion"}}
	card.Details.Format = "scripted"
	card.Details.Families = []string{""}
	entry := modelEntry{
		ID: p.Model, Aliases: []string{p.Model}, Tags: []string{}, Object: "model",
		Created: s.started.Unix(), OwnedBy: "assay-scripted",
	}
	entry.Meta.Vocab = vocabulary
	entry.Meta.Context = p.ContextPerSlot
	entry.Meta.Trained = p.ContextPerSlot
	entry.Meta.FType = "scripted"
	s.succeed(w, modelList{[1]modelCard{card}, "list", [1]modelEntry{entry}})
}

// params are llama.cpp's default samplers. A script does not sample; they are
// here so that a reading of server defaults finds them.
type params struct {
	Seed             int64   `json:"seed"`
	Temperature      number  `json:"temperature"`
	TopK             int     `json:"top_k"`
	TopP             number  `json:"top_p"`
	MinP             number  `json:"min_p"`
	RepeatLastN      int     `json:"repeat_last_n"`
	RepeatPenalty    number  `json:"repeat_penalty"`
	PresencePenalty  number  `json:"presence_penalty"`
	FrequencyPenalty number  `json:"frequency_penalty"`
	MaxTokens        int     `json:"max_tokens"`
	NPredict         int     `json:"n_predict"`
	Stream           bool    `json:"stream"`
	ReasoningFormat  string  `json:"reasoning_format"`
	SpeculativeTypes string  `json:"speculative.types"`
	TimingsPerToken  bool    `json:"timings_per_token"`
	LoRA             []int64 `json:"lora"`
}

func (p Profile) params(seed int64) params {
	speculation := "none"
	if p.Speed.DraftDepth > 0 {
		speculation = "draft-mtp"
	}
	return params{
		Seed: seed, Temperature: 0.8, TopK: 40, TopP: 0.95, MinP: 0.05,
		RepeatLastN: 64, RepeatPenalty: 1, MaxTokens: -1, NPredict: -1,
		ReasoningFormat: "deepseek", SpeculativeTypes: speculation, LoRA: []int64{},
	}
}

type propsBody struct {
	Settings struct {
		Params  params `json:"params"`
		Context int    `json:"n_ctx"`
	} `json:"default_generation_settings"`
	TotalSlots int    `json:"total_slots"`
	ModelAlias string `json:"model_alias"`
	ModelFType string `json:"model_ftype"`
	ModelPath  string `json:"model_path"`
	Modalities struct {
		Vision bool `json:"vision"`
		Video  bool `json:"video"`
		Audio  bool `json:"audio"`
	} `json:"modalities"`
	EndpointSlots   bool            `json:"endpoint_slots"`
	EndpointProps   bool            `json:"endpoint_props"`
	EndpointMetrics bool            `json:"endpoint_metrics"`
	ChatTemplate    string          `json:"chat_template"`
	TemplateCaps    map[string]bool `json:"chat_template_caps"`
	BOS             string          `json:"bos_token"`
	EOS             string          `json:"eos_token"`
	BuildInfo       string          `json:"build_info"`
	IsSleeping      bool            `json:"is_sleeping"`

	// Scripted is the mark by which everything from this server is known to be
	// simulated.
	Scripted bool `json:"assay_scripted"`
}

func (s *Server) props(w http.ResponseWriter, _ *http.Request) {
	p := s.profile
	b := propsBody{
		TotalSlots: p.Slots, ModelAlias: p.Model, ModelFType: "scripted", ModelPath: "scripted/" + p.Model,
		EndpointSlots: true, EndpointMetrics: true,
		ChatTemplate: chatTemplate,
		TemplateCaps: map[string]bool{
			"supports_parallel_tool_calls": true, "supports_preserve_reasoning": true, "supports_string_content": true,
			"supports_system_role": true, "supports_tool_calls": true, "supports_tools": true,
		},
		EOS: "<|im_end|>", BuildInfo: Build, Scripted: true,
	}
	b.Settings.Params = p.params(randomSeed)
	b.Settings.Context = p.ContextPerSlot
	s.succeed(w, b)
}

type slotBody struct {
	ID              int          `json:"id"`
	Context         int          `json:"n_ctx"`
	Speculative     bool         `json:"speculative"`
	IsProcessing    bool         `json:"is_processing"`
	Task            int          `json:"id_task"`
	PromptTokens    int64        `json:"n_prompt_tokens"`
	PromptProcessed int64        `json:"n_prompt_tokens_processed"`
	PromptCached    int64        `json:"n_prompt_tokens_cache"`
	Params          params       `json:"params"`
	NextToken       [1]nextState `json:"next_token"`
}

type nextState struct {
	HasNextToken bool  `json:"has_next_token"`
	HasNewLine   bool  `json:"has_new_line"`
	Remain       int   `json:"n_remain"`
	Decoded      int64 `json:"n_decoded"`
}

func (s *Server) listSlots(w http.ResponseWriter, r *http.Request) {
	list, _ := s.slots.view()
	out := make([]slotBody, 0, len(list))
	free := false
	for _, c := range list {
		free = free || !c.busy
		b := slotBody{
			ID: c.id, Context: s.profile.ContextPerSlot, Speculative: s.profile.Speed.DraftDepth > 0,
			IsProcessing: c.busy, Task: c.last, PromptTokens: c.promptTokens,
			PromptCached: c.cached, PromptProcessed: c.promptTokens - c.cached,
			Params: s.profile.params(c.seed),
		}
		b.NextToken[0] = nextState{HasNextToken: c.busy, Remain: -1, Decoded: c.decoded}
		out = append(out, b)
	}
	if !free && r.URL.Query().Get("fail_on_no_slot") == "1" {
		s.fail(w, unavailable("no slot available"))
		return
	}
	s.succeed(w, out)
}

// tokenize answers POST /tokenize. There are no special tokens to be added.
func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) {
	body, fail := readBody(w, r)
	if fail != nil {
		s.fail(w, fail)
		return
	}
	fields, fail := parseBody(body)
	if fail != nil {
		s.fail(w, fail)
		return
	}
	var text string
	if raw, ok := fields["content"]; ok && json.Unmarshal(raw, &text) != nil {
		s.fail(w, badRequest("Expected 'content' to be a string"))
		return
	}
	pieces := false
	if raw, ok := fields["with_pieces"]; ok && json.Unmarshal(raw, &pieces) != nil {
		s.fail(w, badRequest("Expected 'with_pieces' to be a boolean"))
		return
	}
	type piece struct {
		ID    int    `json:"id"`
		Piece string `json:"piece"`
	}
	out := []any{}
	for _, t := range tokenize(text) {
		if pieces {
			out = append(out, piece{tokenID(t), t})
		} else {
			out = append(out, tokenID(t))
		}
	}
	s.succeed(w, struct {
		Tokens []any `json:"tokens"`
	}{out})
}
