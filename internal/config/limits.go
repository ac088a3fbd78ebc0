package config

import (
	"fmt"
	"time"
)

// autoTime stands for max_seconds = "auto" while no speed is measured.
const autoTime = 7200 * time.Second

func (l *loader) limits(s *Study, c section) {
	lim := &s.Limits
	number := func(key string, lo, hi, def int64) (int, *node) {
		v, n := c.integer(key, lo, hi, def)
		return int(v), n
	}
	var output, sequence *node
	lim.MaxOutputTokens, output = number("max_output_tokens", 1, 10_000_000, 49152)
	lim.MaxSequenceTokens, sequence = l.sequence(c)
	lim.MaxTurns, _ = number("max_turns", 1, 100_000, 60)
	var total *node
	lim.MaxTime, s.AutoSeconds, total = l.maxSeconds(c)
	var command *node
	lim.CommandTime, command = c.seconds("command_seconds", time.Hour, 60*time.Second)
	lim.ToolOutputBytes, _ = number("tool_output_bytes", 256, 1<<20, 16384)
	lim.IdleTime, _ = c.seconds("idle_seconds", 24*time.Hour, 300*time.Second)
	lim.MaxMalformedCalls, _ = number("max_malformed_calls", 1, 10_000, 8)
	lim.InvalidRetries, _ = number("invalid_retries", 0, 100, 2)

	if lim.MaxSequenceTokens > 0 && lim.MaxOutputTokens > lim.MaxSequenceTokens {
		n := output
		if n == nil {
			n = sequence
		}
		c.faultAt(n, "max_output_tokens", fmt.Sprintf(
			"must not be more than max_sequence_tokens (%d), is %d", lim.MaxSequenceTokens, lim.MaxOutputTokens))
	}
	if total != nil && lim.CommandTime > lim.MaxTime {
		n := command
		if n == nil {
			n = total
		}
		c.faultAt(n, "command_seconds", fmt.Sprintf(
			"must not be more than max_seconds (%v), is %v", lim.MaxTime.Seconds(), lim.CommandTime.Seconds()))
	}
}

// sequence reads max_sequence_tokens: 0 leaves it to the context per slot.
func (l *loader) sequence(c section) (int, *node) {
	const key = "max_sequence_tokens"
	n := c.get(key)
	value, origin := int64(0), byDefault
	if n != nil {
		if !c.whole(key, n, 0, 100_000_000) {
			return 0, nil
		}
		value, origin = n.num, l.at(n)
	}
	shown := fmt.Sprint(value)
	if value == 0 {
		shown = "from the context per slot"
	}
	c.setting(key, shown, origin)
	return int(value), n
}

// maxSeconds reads "auto" or seconds; the node is nil unless the file sets seconds.
func (l *loader) maxSeconds(c section) (limit time.Duration, auto bool, n *node) {
	const key = "max_seconds"
	shown := fmt.Sprintf("auto (%v until speed is measured)", autoTime.Seconds())
	n = c.get(key)
	switch {
	case n == nil:
		c.setting(key, shown, byDefault)
		return autoTime, true, nil
	case n.kind == kindString && n.str == "auto":
		c.setting(key, shown, l.at(n))
		return autoTime, true, nil
	case n.kind != kindInt && n.kind != kindFloat:
		c.wrongType(key, n, `"auto" or a number of seconds`)
		return autoTime, true, nil
	}
	d, set := c.seconds(key, 30*24*time.Hour, autoTime)
	return d, set == nil, set
}

// seconds reads a time limit from one second up to hi. The node is nil unless
// the file sets a valid one.
func (s section) seconds(key string, hi, def time.Duration) (time.Duration, *node) {
	n := s.get(key)
	if n == nil {
		s.setting(key, fmt.Sprint(def.Seconds()), byDefault)
		return def, nil
	}
	if !s.number(key, n, 1, hi.Seconds()) {
		return def, nil
	}
	d := time.Duration(n.float * float64(time.Second))
	s.setting(key, fmt.Sprint(d.Seconds()), s.l.at(n))
	return d, n
}
