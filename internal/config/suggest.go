package config

import (
	"slices"
	"strings"
)

// keysOf lists the keys of every table of a study file by the label that faults
// use for it. It is the one place that knows them; rig tables share "[rig.NAME]".
func keysOf() map[string][]string {
	sampling := []string{"temperature", "top_p", "top_k", "min_p", "repeat_penalty", "presence_penalty"}
	return map[string][]string{
		"":         {"schema", "name", "server", "arm", "coding", "sampling", "agent", "grading", "rig", "compare"},
		"[server]": {"command", "mtp"},
		"[[arm]]": {
			"name", "model", "url", "command", "key_env", "mtp", "parallel", "rig",
			"extra_body", "expect", "replay_reasoning", "sampling",
		},
		"[arm.sampling]": sampling,
		"[arm.expect]":   {"kind", "build", "model", "template_digest", "context_per_slot", "slots"},
		"[coding]":       {"tasks", "seeds", "repeats", "variants", "fixtures", "order", "limits"},
		"[coding.limits]": {
			"max_output_tokens", "max_sequence_tokens", "max_turns", "max_seconds", "command_seconds",
			"tool_output_bytes", "idle_seconds", "max_malformed_calls", "invalid_retries",
		},
		"[sampling]": sampling,
		"[agent]":    {"replay_reasoning", "reminder"},
		"[grading]":  {"sandbox", "overlap", "after_arm"},
		"[rig.NAME]": {"telemetry"},
		"[compare]":  {"baseline", "margin", "varies"},
	}
}

// hint says what an unknown key of a table may have been meant to be.
func hint(table, key string) string {
	all := keysOf()
	if near := nearest(key, all[table]); near != "" {
		return "; did you mean " + near + "?"
	}
	var homes []string
	for label, keys := range all {
		if label != table && slices.Contains(keys, key) {
			if label == "" {
				label = "the top level, above the first table"
			}
			homes = append(homes, label)
		}
	}
	if len(homes) == 0 {
		return ""
	}
	slices.Sort(homes)
	return "; it belongs to " + strings.Join(homes, " or ")
}

// nearest returns the word closest to s, or "" when none is close enough to be
// a slip of the hand: one edit per three characters, at most two.
func nearest(s string, words []string) string {
	best, bestDist := "", min(2, max(1, len(s)/3))+1
	for _, w := range words {
		if d := distance(strings.ToLower(s), w, bestDist); d < bestDist {
			best, bestDist = w, d
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b; it gives up at limit.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d >= limit || -d >= limit {
		return limit
	}
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return min(prev[len(b)], limit)
}
