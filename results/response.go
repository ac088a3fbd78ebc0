package results

import (
	"context"
	"database/sql"
	"fmt"

	"assay/internal/bench"
)

// AddResponse writes one model call of a running attempt: r as far as it came, and
// fault if it failed. Text, reasoning and tool calls are not written apart: the
// raw bytes hold them.
func (s *Store) AddResponse(ctx context.Context, attempt int64, turn int, r bench.Response, fault *bench.EngineError) error {
	request, err := s.blobs.pack(r.RequestBody)
	if err != nil {
		return fmt.Errorf("pack a request of attempt %d: %w", attempt, err)
	}
	raw, err := s.blobs.pack(r.Raw)
	if err != nil {
		return fmt.Errorf("pack a response of attempt %d: %w", attempt, err)
	}
	return s.write(ctx, passing, fmt.Sprintf("add a response to attempt %d", attempt), func(ctx context.Context, tx *sql.Tx) error {
		if _, err := running(ctx, tx, attempt); err != nil {
			return err
		}
		var n int
		err := tx.QueryRowContext(ctx, "SELECT coalesce(max(n), 0) + 1 FROM responses WHERE attempt = ?", attempt).Scan(&n)
		if err != nil {
			return err
		}
		requestID, err := putBlob(ctx, tx, request)
		if err != nil {
			return err
		}
		rawID, err := putBlob(ctx, tx, raw)
		if err != nil {
			return err
		}
		if err := insertResponse(ctx, tx, attempt, n, turn, r, fault, requestID, rawID); err != nil {
			return err
		}
		return insertTimings(ctx, tx, attempt, n, r)
	})
}

func insertResponse(ctx context.Context, tx *sql.Tx, attempt int64, n, turn int, r bench.Response, fault *bench.EngineError, request, raw *int64) error {
	f := faultColumns(fault)
	_, err := tx.ExecContext(ctx, `INSERT INTO responses (attempt, n, turn, status, streamed, complete, finish_raw, finish,
		response_id, model, fingerprint, text_bytes, reasoning_bytes, reasoning_field, refusal, tool_calls, token_events,
		request, raw, raw_total, started_at, first_byte_ns, first_token_ns, first_answer_ns, last_token_ns, end_ns,
		simulated_ns, fault, fault_message, fault_url, fault_status, fault_prompt_tokens, fault_context_size, fault_retry_ns)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		attempt, n, turn, orNull(r.Status), r.Streamed, r.Complete, orNull(r.FinishRaw), orNull(string(r.Finish)),
		orNull(r.ID), orNull(r.Model), orNull(r.Fingerprint), len(r.Text), len(r.Reasoning), orNull(r.ReasoningField),
		orNull(r.Refusal), len(r.ToolCalls), r.TokenEvents, request, raw, r.RawTotal,
		timeText(r.Marks.Start), nanos(r.Marks.FirstByte), nanos(r.Marks.FirstToken), nanos(r.Marks.FirstAnswer),
		nanos(r.Marks.LastToken), nanos(r.Marks.End), nanos(r.Simulated),
		f.kind, f.message, f.url, f.status, f.promptTokens, f.contextSize, f.retry)
	return err
}

type faultRow struct {
	kind, message, url        *string
	status                    *int
	promptTokens, contextSize *int64
	retry                     *int64
}

func faultColumns(e *bench.EngineError) faultRow {
	if e == nil {
		return faultRow{}
	}
	message := e.Message
	if e.Err != nil {
		if message != "" {
			message += ": "
		}
		message += e.Err.Error()
	}
	kind := string(e.Fault)
	return faultRow{
		kind: &kind, message: orNull(message), url: orNull(withoutUser(e.URL)), status: orNull(e.Status),
		promptTokens: e.PromptTokens, contextSize: e.ContextSize, retry: orNull(e.RetryAfter.Nanoseconds()),
	}
}

func insertTimings(ctx context.Context, tx *sql.Tx, attempt int64, n int, r bench.Response) error {
	var t bench.Timings
	if r.Timings != nil {
		t = *r.Timings
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO response_timings (attempt, n, has_timings, cache_n, prompt_n, prompt_ms,
		predicted_n, predicted_ms, draft_n, draft_n_accepted, usage_prompt, usage_completion, usage_cached, usage_reasoning)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		attempt, n, r.Timings != nil, t.CacheN, t.PromptN, t.PromptMS, t.PredictedN, t.PredictedMS, t.DraftN,
		t.DraftNAccepted, r.Usage.PromptTokens, r.Usage.CompletionTokens, r.Usage.CachedTokens, r.Usage.ReasoningTokens)
	return err
}
