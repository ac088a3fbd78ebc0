package config

import (
	"math"
	"strconv"

	"assay/internal/bench"
)

// serverDefault, in place of a number, means that a setting is not sent. It
// takes back what an arm would inherit.
const serverDefault = "server default"

// sampling reads a sampler table over what it inherits. Settings are recorded
// for every key at the top, and for those that an arm changes.
func (l *loader) sampling(c section, inherited *bench.Sampling) bench.Sampling {
	var s bench.Sampling
	if inherited != nil {
		s = *inherited
	}
	quiet := inherited != nil
	c.sampler("temperature", 0, 10, &s.Temperature, quiet)
	c.sampler("top_p", 0, 1, &s.TopP, quiet)
	c.samplerInt("top_k", -1, 1_000_000, &s.TopK, quiet)
	c.sampler("min_p", 0, 1, &s.MinP, quiet)
	c.sampler("repeat_penalty", math.SmallestNonzeroFloat64, 10, &s.RepeatPenalty, quiet)
	c.sampler("presence_penalty", -2, 2, &s.PresencePenalty, quiet)
	return s
}

// unset handles an absent key and the words "server default"; true: done.
func (s section) unset(key string, n *node, quiet bool) (clear, done bool) {
	switch {
	case n == nil:
		if !quiet {
			s.setting(key, serverDefault, byDefault)
		}
		return false, true
	case n.kind == kindString && n.str == serverDefault:
		s.setting(key, serverDefault, s.l.at(n))
		return true, true
	case n.kind != kindInt && n.kind != kindFloat:
		s.wrongType(key, n, `a number or "`+serverDefault+`"`)
		return false, true
	}
	return false, false
}

func (s section) sampler(key string, lo, hi float64, to **float64, quiet bool) {
	n := s.get(key)
	if clear, done := s.unset(key, n, quiet); done {
		if clear {
			*to = nil
		}
		return
	}
	if lo == math.SmallestNonzeroFloat64 && n.float <= 0 {
		s.faultAt(n, key, "must be more than 0, is "+cut(n.raw))
		return
	}
	if s.number(key, n, lo, hi) {
		v := n.float
		*to = &v
		s.setting(key, strconv.FormatFloat(v, 'g', -1, 64), s.l.at(n))
	}
}

func (s section) samplerInt(key string, lo, hi int64, to **int64, quiet bool) {
	n := s.get(key)
	if clear, done := s.unset(key, n, quiet); done {
		if clear {
			*to = nil
		}
		return
	}
	if s.whole(key, n, lo, hi) {
		v := n.num
		*to = &v
		s.setting(key, strconv.FormatInt(v, 10), s.l.at(n))
	}
}
