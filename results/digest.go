package results

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
)

// chained are the tables of plans and original observations, in the order of the
// chain, with their columns and the key that orders their rows. The plans say whose
// observation a row is, so they belong to it. Blobs enter by their content's
// digest. What a regrade adds is not among them.
var chained = []struct{ table, columns, order string }{
	{"cohorts", `id, identity, study, study_digest, (SELECT sha256 FROM blobs WHERE id = study_text), assay, scaffold,
		(SELECT sha256 FROM blobs WHERE id = scaffold_text), run_order, limits, created_at`, "id"},
	{"arms", "cohort, position, name, declared", "cohort, position"},
	{"cells", "id, key, task, seed, repeat, variant, task_digest", "id"},
	{"cohort_cells", "cohort, position, cell, arm, fixture_version, fixture_digest", "cohort, position"},
	{"attempts", "id, cohort, cell, number, worker, observed, environment, simulated, started_at", "id"},
	{"attempt_ends", `attempt, cell, counts, stop_reason, stop_message, limit_name, limit_value, limit_reached, task_ns, turns,
		reminders, retries, candidate, rejected, skipped, protected_touched, bad_calls, engine_idle, ended_at`, "attempt"},
	{"responses", `attempt, n, turn, status, streamed, complete, finish_raw, finish, response_id, model, fingerprint, text_bytes,
		reasoning_bytes, reasoning_field, refusal, tool_calls, token_events,
		(SELECT sha256 FROM blobs WHERE id = request), (SELECT sha256 FROM blobs WHERE id = raw), raw_total, started_at,
		first_byte_ns, first_token_ns, first_answer_ns, last_token_ns, end_ns, simulated_ns, fault, fault_message, fault_url,
		fault_status, fault_prompt_tokens, fault_context_size, fault_retry_ns`, "attempt, n"},
	{"response_timings", `attempt, n, has_timings, cache_n, prompt_n, prompt_ms, predicted_n, predicted_ms, draft_n,
		draft_n_accepted, usage_prompt, usage_completion, usage_cached, usage_reasoning`, "attempt, n"},
	{"steps", `attempt, step, turn, kind, tool, call_id, (SELECT sha256 FROM blobs WHERE id = arguments),
		(SELECT sha256 FROM blobs WHERE id = answer), bad, ok, started_at, elapsed_ns`, "attempt, step"},
	{"candidates", "id, (SELECT sha256 FROM blobs WHERE id = manifest)", "id"},
	{"candidate_files", "candidate, path, exec, (SELECT sha256 FROM blobs WHERE id = blob)", "candidate, path"},
}

// Digest chains the original rows (plans, attempts and their ends, responses,
// timings, steps, candidates) into one sha256, hex: each link is over the link before and
// one row. Gradings and events do not enter, so a regrade leaves it as it is.
func (r *Reader) Digest(ctx context.Context) (string, error) {
	var out string
	err := r.view(ctx, "digest the rows", func(ctx context.Context, q querier) error {
		link := sha256.Sum256([]byte("assay original rows 1"))
		for _, c := range chained {
			if err := chain(ctx, q, &link, c.table, c.columns, c.order); err != nil {
				return fmt.Errorf("%s: %w", c.table, err)
			}
		}
		out = hex.EncodeToString(link[:])
		return nil
	})
	return out, err
}

func chain(ctx context.Context, q querier, link *[sha256.Size]byte, table, columns, order string) error {
	var values, into []any
	h := sha256.New()
	return collect(ctx, q, "SELECT "+columns+" FROM "+table+" ORDER BY "+order, nil, func(rows *sql.Rows) error {
		if values == nil {
			names, err := rows.Columns()
			if err != nil {
				return err
			}
			values, into = make([]any, len(names)), make([]any, len(names))
			for i := range values {
				into[i] = &values[i]
			}
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		h.Reset()
		h.Write(link[:])
		hashValue(h, table)
		for _, v := range values {
			hashValue(h, v)
		}
		h.Sum(link[:0])
		return nil
	})
}

// hashValue writes a value with its type and length, so that no two rows spell the
// same bytes.
func hashValue(h hash.Hash, v any) {
	var b [9]byte
	put := func(tag byte, n uint64) {
		b[0] = tag
		binary.BigEndian.PutUint64(b[1:], n)
		h.Write(b[:])
	}
	switch v := v.(type) {
	case nil:
		put('n', 0)
	case int64:
		put('i', uint64(v))
	case float64:
		put('r', math.Float64bits(v))
	case string:
		put('t', uint64(len(v)))
		h.Write([]byte(v))
	case []byte:
		put('b', uint64(len(v)))
		h.Write(v)
	default: // the driver gives no other type for a STRICT table
		put('?', 0)
		fmt.Fprintf(h, "%T %v", v, v)
	}
}
