package agent

import (
	"bytes"
	"fmt"
	"strings"

	"assay/internal/bench"
)

// Scaffold returns the text that fixes how this loop treats a model: system
// prompt, tool schemas, rules and version, and its sha256 in hex. Results of two
// scaffolds are not comparable.
func Scaffold() (digest string, text []byte) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "scaffold %d\n", scaffoldVersion)
	fmt.Fprintf(&b, "\nsystem\n%s\n", systemPrompt)
	for _, t := range offered(toolbox()) {
		fmt.Fprintf(&b, "\ntool %s\n%s\n%s\n", t.Name, t.Description, t.Parameters)
	}
	b.WriteString("\nrules\n")
	for _, r := range []struct {
		name  string
		value any
	}{
		{"reminder", reminderText},
		{"reasoning_only", reasoningOnlyText},
		{"empty", emptyText},
		{"unparsable", unparsableText},
		{"placeholder", placeholder},
		{"max_reasoning_only", maxReasoningOnly},
		{"max_empty", maxEmpty},
		{"same_call_run", sameCallRun},
		{"stale_turn_run", staleTurnRun},
		{"same_answer_but_for", timing},
		{"max_calls_per_turn", maxCallsPerTurn},
		{"max_command_bytes", maxCommandBytes},
		{"max_stream_bytes", maxStreamBytes},
		{"max_read_bytes", maxReadBytes},
		{"max_list_entries", maxListEntries},
		{"engine_retries", engineRetries},
		{"attempt_retries", attemptRetries},
		{"max_lowered", maxLowered},
		{"min_answer", minAnswer},
		{"long_silence", longSilence},
		{"max_id_bytes", maxIDBytes},
		{"max_quoted", maxQuoted},
		{"max_named_lines", maxNamedLines},
		{"mark_reserve", markReserve},
		{"answer_reserve", answerReserve},
		{"box_patience", boxPatience},
		{"journal_patience", journalPatience},
		{"workspace_in_box", workspaceInBox},
		{"quick_backoff", quickBackoff},
		{"slow_backoff", slowBackoff},
		{"backoff_factor", backoffFactor},
		{"max_server_wait", maxServerWait},
		{"command_search_path", commandSearchPath},
		{"command_environment", strings.Join(commandEnv(), " ")},
	} {
		fmt.Fprintf(&b, "%s = %v\n", r.name, r.value)
	}
	return bench.Digest(b.Bytes()), b.Bytes()
}
