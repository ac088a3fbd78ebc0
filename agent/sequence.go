package agent

import (
	"strings"

	"assay/internal/bench"
)

// sequenceLimit returns the tighter of the two bounds on prompt plus output of a
// request, or 0 where there is none.
func (a *attempt) sequenceLimit() (limit int64, name string) {
	limit, name = int64(a.job.Limits.MaxSequenceTokens), "max_sequence_tokens"
	if slot := a.job.ContextPerSlot; slot != nil && *slot > 0 && (limit == 0 || *slot < limit) {
		limit, name = *slot, "context_per_slot"
	}
	return limit, name
}

// outputBudget returns max_tokens of the next request: max_output_tokens, or what
// the sequence limit leaves beside a prompt that holds at least the last request
// and its answer.
func (a *attempt) outputBudget() (int, *bench.Stop) {
	output := a.job.Limits.MaxOutputTokens
	limit, name := a.sequenceLimit()
	if limit == 0 {
		return output, nil
	}
	room := limit - a.used
	if room <= 0 {
		return 0, limitStop(bench.StopSequenceLimit, name, tokens(limit), tokens(a.used),
			"the history leaves no room for another answer")
	}
	return int(min(int64(output), room)), nil
}

// measure notes how long the next prompt is at least. Reasoning may not come back,
// whether we send it or not: the chat template decides. Where there is reasoning
// and its share is unknown, only the prompt is certain.
func (a *attempt) measure(r bench.Response) {
	prompt, output := r.PromptTokens(), r.OutputTokens()
	if prompt == nil {
		return
	}
	a.used = *prompt
	switch {
	case output == nil:
	case r.Usage.ReasoningTokens != nil && *r.Usage.ReasoningTokens > 0: // also of reasoning that is not shown
		a.used += max(*output-*r.Usage.ReasoningTokens, 0)
	case r.Reasoning == "":
		a.used += *output
	}
}

// overSequence stops an attempt whose answer went beyond max_sequence_tokens,
// which the server does not know: tool answers make a prompt longer than could be
// told before it was counted.
func (a *attempt) overSequence(r bench.Response) *bench.Stop {
	limit := int64(a.job.Limits.MaxSequenceTokens)
	length := sequence(r)
	if limit == 0 || length == nil || *length <= limit {
		return nil
	}
	return limitStop(bench.StopSequenceLimit, "max_sequence_tokens", tokens(limit), tokens(*length),
		"prompt and answer together are longer than allowed")
}

// sequence is prompt plus output of a request in tokens, nil where one is unknown.
func sequence(r bench.Response) *int64 {
	prompt, output := r.PromptTokens(), r.OutputTokens()
	if prompt == nil || output == nil {
		return nil
	}
	n := *prompt + *output
	return &n
}

// cut says why an answer without a call was ended by length.
func (a *attempt) cut(r bench.Response) *bench.Stop {
	output, length := r.OutputTokens(), sequence(r)
	limit, name := a.sequenceLimit()
	full := output == nil || *output >= int64(a.asked)
	shortened := a.asked < a.job.Limits.MaxOutputTokens
	// A server may keep the last place of its context free.
	if limit > 0 && length != nil && (*length >= limit-1 && !full || full && shortened) {
		return limitStop(bench.StopSequenceLimit, name, tokens(limit), tokens(*length),
			"the answer ran to the end of what prompt and output may hold together")
	}
	reached := "an unknown number of tokens"
	if output != nil {
		reached = tokens(*output)
	}
	reason, what := bench.StopOutputLimit, "the answer was cut by its length before any call"
	if strings.TrimSpace(r.Text) == "" && strings.TrimSpace(r.Reasoning) != "" && !answered(r) {
		reason, what = bench.StopReasoningExhausted, "the whole answer was reasoning when its length cut it"
	}
	if !full {
		return &bench.Stop{Reason: reason, Reached: reached, Message: what + ": the server ended it at " + reached +
			", below the " + tokens(int64(a.asked)) + " asked for"}
	}
	return limitStop(reason, "max_output_tokens", tokens(int64(a.asked)), reached, what)
}

// answered reports that the server counted tokens beside the reasoning, such as
// those of a call that was cut and never shown.
func answered(r bench.Response) bool {
	output := r.OutputTokens()
	return output != nil && r.Usage.ReasoningTokens != nil && *output > *r.Usage.ReasoningTokens+1
}
