package bench

import "fmt"

// Observed is what a model server says of itself, read back at start. Nil and
// empty are unknown; unknown is not a change.
type Observed struct {
	Kind           string // "llama.cpp", "openai", "scripted"
	Build          string // build_info or system_fingerprint
	Model          string // id that the server lists or echoes
	Served         []string
	ContextPerSlot *int64 // tokens, default_generation_settings.n_ctx
	Slots          *int64
	TemplateDigest string // sha256 of the chat template, hex
	ModelPath      string // as the server says; not part of any digest
	Simulated      bool   // the scripted engine made it
	Sampling       map[string]string
}

// Changed says in words what differs between two observations of one arm, or
// nothing. Only what both of them know is compared, and neither addresses nor
// paths; sampler defaults are not.
func (o Observed) Changed(now Observed) string {
	text := func(name, was, is string) string {
		if was == "" || is == "" || was == is {
			return ""
		}
		return fmt.Sprintf("%s was %q and is %q", name, was, is)
	}
	number := func(name string, was, is *int64) string {
		if was == nil || is == nil || *was == *is {
			return ""
		}
		return fmt.Sprintf("%s was %d and is %d", name, *was, *is)
	}
	for _, change := range []string{
		text("the kind of server", o.Kind, now.Kind),
		text("its build", o.Build, now.Build),
		text("the model", o.Model, now.Model),
		text("the chat template's digest", o.TemplateDigest, now.TemplateDigest),
		number("the context per slot", o.ContextPerSlot, now.ContextPerSlot),
		number("the number of slots", o.Slots, now.Slots),
	} {
		if change != "" {
			return change
		}
	}
	return ""
}
