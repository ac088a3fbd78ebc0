package config

import (
	"fmt"
	"regexp"
	"strings"

	"assay/internal/bench"
)

const (
	maxArms     = 256
	maxParallel = 1024
)

func (l *loader) arms(s *Study, top section, sampling bench.Sampling, replay bench.Replay) {
	srv := l.server(top.sub("server"))
	n := top.get("arm")
	switch {
	case n == nil:
		l.fault(1, "", "arm", "there is no arm; add [[arm]] with a url, or with a model and [server] command")
		return
	case n.kind != kindList:
		top.wrongType("arm", n, "written [[arm]], with two brackets, once per arm")
		return
	case len(n.items) == 0:
		top.faultAt(n, "arm", "is empty; add [[arm]] with a url, or with a model and [server] command")
		return
	case len(n.items) > maxArms:
		top.faultAt(n, "arm", fmt.Sprintf("at most %d arms, here are %d", maxArms, len(n.items)))
		return
	}
	lines := map[string]int{}
	for _, item := range n.items {
		if item.kind != kindTable {
			l.fault(item.line, "[[arm]]", "", "must be a table, is "+describe(item))
			continue
		}
		c := section{l: l, n: item, label: "[[arm]]", prefix: "arm.", line: item.line}
		c.known()
		for _, a := range l.arm(s, c, srv, sampling, replay) {
			if line, twice := lines[a.Name]; twice && a.Name != "" {
				at := item
				if n := c.get("name"); n != nil {
					at = n
				}
				c.faultAt(at, "name", fmt.Sprintf(
					"%s is already the name of the arm on line %d; give one of them another name", clip(a.Name), line))
				continue
			}
			lines[a.Name] = item.line
			s.Arms = append(s.Arms, a)
		}
	}
	if len(s.Arms) > maxArms {
		top.faultAt(n, "arm", fmt.Sprintf("at most %d arms, with one per mtp depth here are %d", maxArms, len(s.Arms)))
	}
}

// arm reads one [[arm]]: one arm, or one per depth of its mtp list.
func (l *loader) arm(s *Study, c section, srv server, sampling bench.Sampling, replay bench.Replay) []Arm {
	model, modelNode := c.optionalString("model")
	if modelNode != nil && strings.ContainsFunc(model, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		c.faultAt(modelNode, "model", "must not have control characters, is "+clip(model))
	}
	a := Arm{Line: c.line}
	a.Model = model
	a.Name = l.armName(c, model, modelNode)
	c.prefix = "arm." + a.Name + "."
	if modelNode != nil {
		c.setting("model", model, l.at(modelNode))
	} else {
		c.setting("model", "the one that the server lists", byDefault)
	}
	l.address(&a, c, srv)
	if key, n := c.optionalString("key_env"); n != nil {
		// The text is not repeated: it may be the key itself.
		if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`).MatchString(key) {
			c.faultAt(n, "key_env", "must be the name of an environment variable (letters, digits, _), never the key itself")
		} else {
			a.KeyEnv = key
			c.setting("key_env", key, l.at(n))
		}
	}
	parallel, _ := c.integer("parallel", 1, maxParallel, 1)
	a.Parallel = int(parallel)
	a.Rig = l.armRig(s, c)
	a.Sampling = l.sampling(c.sub("sampling"), &sampling)
	a.Replay = replay
	if c.get("replay_reasoning") != nil {
		word, _ := c.choice("replay_reasoning", string(bench.ReplayAsSent), string(bench.ReplayStrip))
		a.Replay = bench.Replay(word)
	}
	a.ExtraBody = l.extraBody(c)
	a.Expect = l.expect(c.sub("expect"))
	return l.depths(a, c, srv)
}

// armName is the name as given, or the stem of the model's file. The address
// never makes a name: a server may move and its arm stays the same.
func (l *loader) armName(c section, model string, modelNode *node) string {
	name, n := c.optionalString("name")
	switch {
	case n != nil:
		if why := badName(name); why != "" {
			c.faultAt(n, "name", why)
			return ""
		}
		c.prefix = "arm." + name + "."
		c.setting("name", name, l.at(n))
		return name
	case c.get("name") != nil: // its fault is listed
		return ""
	case modelNode == nil:
		if c.get("model") == nil {
			c.l.fault(c.line, c.label, "name", `missing, and there is no model to take it from; write name = "…"`)
		}
		return ""
	}
	stem := model[strings.LastIndexAny(model, `/\`)+1:]
	stem = strings.TrimSuffix(stem, ".gguf")
	if badName(stem) != "" {
		c.faultAt(modelNode, "model", "no name can be made of "+clip(model)+`; add name = "…"`)
		return ""
	}
	c.prefix = "arm." + stem + "."
	c.setting("name", stem, "from model, "+l.at(modelNode))
	return stem
}

func (l *loader) armRig(s *Study, c section) string {
	name, n := c.optionalString("rig")
	if n == nil {
		return ""
	}
	var names []string
	for _, r := range s.Rigs {
		if r.Name == name {
			c.setting("rig", name, l.at(n))
			return name
		}
		names = append(names, r.Name)
	}
	message := "there is no rig " + clip(name)
	if near := nearest(name, names); near != "" {
		message += "; did you mean " + near + "?"
	} else {
		message += "; add a table [rig." + printable(name) + "]"
	}
	c.faultAt(n, "rig", message)
	return ""
}

func (l *loader) expect(c section) Expect {
	var e Expect
	text := func(key string, to **string) {
		if v, n := c.optionalString(key); n != nil {
			*to = &v
			c.setting(key, printable(v), l.at(n))
		}
	}
	number := func(key string, hi int64, to **int64) {
		if n := c.get(key); n != nil && c.whole(key, n, 1, hi) {
			v := n.num
			*to = &v
			c.setting(key, n.raw, l.at(n))
		}
	}
	text("kind", &e.Kind)
	text("build", &e.Build)
	text("model", &e.Model)
	text("template_digest", &e.TemplateDigest)
	number("context_per_slot", 100_000_000, &e.ContextPerSlot)
	number("slots", 100_000, &e.Slots)
	return e
}
