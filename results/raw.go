package results

import (
	"context"
	"database/sql"
	"time"

	"assay/internal/bench"
)

// ResponseRow is a response as the record holds it. Text, reasoning and tool calls
// are in Response.Raw; here are their sizes.
type ResponseRow struct {
	N, Turn        int
	Response       bench.Response // without Text, Reasoning and ToolCalls
	TextBytes      int
	ReasoningBytes int
	ToolCalls      int
	Fault          *bench.EngineError // without Err: its words are in Message
}

const responseQuery = `
SELECT r.n, r.turn, r.status, r.streamed, r.complete, r.finish_raw, r.finish, r.response_id, r.model, r.fingerprint,
	r.text_bytes, r.reasoning_bytes, r.reasoning_field, r.refusal, r.tool_calls, r.token_events, r.request, r.raw, r.raw_total,
	r.started_at, r.first_byte_ns, r.first_token_ns, r.first_answer_ns, r.last_token_ns, r.end_ns, r.simulated_ns,
	r.fault, r.fault_message, r.fault_url, r.fault_status, r.fault_prompt_tokens, r.fault_context_size, r.fault_retry_ns,
	t.has_timings, t.cache_n, t.prompt_n, t.prompt_ms, t.predicted_n, t.predicted_ms, t.draft_n, t.draft_n_accepted,
	t.usage_prompt, t.usage_completion, t.usage_cached, t.usage_reasoning
FROM responses r JOIN response_timings t ON t.attempt = r.attempt AND t.n = r.n
WHERE r.attempt = ? ORDER BY r.n`

// Responses reads the model calls of an attempt with their raw bytes, in the order
// in which they were written.
func (r *Reader) Responses(ctx context.Context, attempt int64) ([]ResponseRow, error) {
	var out []ResponseRow
	err := r.view(ctx, "read the responses", func(ctx context.Context, q querier) error {
		type payload struct{ request, raw *int64 }
		var list []ResponseRow
		var payloads []payload
		err := collect(ctx, q, responseQuery, []any{attempt}, func(rows *sql.Rows) error {
			var p payload
			row, err := scanResponse(rows, &p.request, &p.raw)
			list, payloads = append(list, row), append(payloads, p)
			return err
		})
		if err != nil {
			return err
		}
		for i, p := range payloads {
			if list[i].Response.RequestBody, err = r.blobs.getBlob(ctx, q, p.request); err != nil {
				return err
			}
			if list[i].Response.Raw, err = r.blobs.getBlob(ctx, q, p.raw); err != nil {
				return err
			}
		}
		out = list
		return nil
	})
	return out, err
}

func scanResponse(rows *sql.Rows, request, raw **int64) (row ResponseRow, err error) {
	r, t := &row.Response, bench.Timings{}
	var status, faultStatus *int
	var finishRaw, finish, id, model, fingerprint, field, refusal, fault, faultMessage, faultURL *string
	var start sql.NullString
	var firstByte, firstToken, firstAnswer, lastToken, end, simulated, faultPrompt, faultContext, faultRetry *int64
	var hasTimings bool
	err = rows.Scan(&row.N, &row.Turn, &status, &r.Streamed, &r.Complete, &finishRaw, &finish, &id, &model, &fingerprint,
		&row.TextBytes, &row.ReasoningBytes, &field, &refusal, &row.ToolCalls, &r.TokenEvents, request, raw, &r.RawTotal,
		&start, &firstByte, &firstToken, &firstAnswer, &lastToken, &end, &simulated,
		&fault, &faultMessage, &faultURL, &faultStatus, &faultPrompt, &faultContext, &faultRetry,
		&hasTimings, &t.CacheN, &t.PromptN, &t.PromptMS, &t.PredictedN, &t.PredictedMS, &t.DraftN, &t.DraftNAccepted,
		&r.Usage.PromptTokens, &r.Usage.CompletionTokens, &r.Usage.CachedTokens, &r.Usage.ReasoningTokens)
	if err != nil {
		return row, err
	}
	r.Status, r.FinishRaw, r.Finish = orZero(status), orZero(finishRaw), bench.Finish(orZero(finish))
	r.ID, r.Model, r.Fingerprint = orZero(id), orZero(model), orZero(fingerprint)
	r.ReasoningField, r.Refusal = orZero(field), orZero(refusal)
	r.Simulated = duration(simulated)
	r.Marks = bench.Marks{
		FirstByte: duration(firstByte), FirstToken: duration(firstToken), FirstAnswer: duration(firstAnswer),
		LastToken: duration(lastToken), End: duration(end),
	}
	if r.Marks.Start, err = parseTime(start); err != nil {
		return row, err
	}
	if hasTimings {
		r.Timings = &t
	}
	if fault != nil {
		row.Fault = &bench.EngineError{
			Fault: bench.EngineFault(*fault), URL: orZero(faultURL), Status: orZero(faultStatus), Message: orZero(faultMessage),
			PromptTokens: faultPrompt, ContextSize: faultContext, RetryAfter: time.Duration(orZero(faultRetry)),
		}
	}
	return row, nil
}
