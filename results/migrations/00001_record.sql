-- +goose Up
-- +goose StatementBegin

-- The first format of the record. docs/schema.md explains every table.
-- Times are text, UTC, RFC 3339 with nine digits of nanoseconds. NULL is unknown.

CREATE TABLE formats (
    format     INTEGER PRIMARY KEY CHECK (format > 0),
    assay      TEXT NOT NULL,
    since      TEXT NOT NULL
) STRICT;

CREATE TABLE blobs (
    id         INTEGER PRIMARY KEY CHECK (id > 0),
    sha256     BLOB NOT NULL UNIQUE CHECK (length(sha256) = 32),
    bytes      INTEGER NOT NULL CHECK (bytes >= 0),
    zstd       BLOB NOT NULL
) STRICT;

CREATE TABLE cohorts (
    id              INTEGER PRIMARY KEY CHECK (id > 0),
    identity        TEXT NOT NULL UNIQUE,
    study           TEXT NOT NULL,
    study_digest    TEXT NOT NULL,
    study_text      INTEGER NOT NULL REFERENCES blobs (id),
    assay           TEXT NOT NULL,
    scaffold        TEXT NOT NULL,
    scaffold_text   INTEGER NOT NULL REFERENCES blobs (id),
    run_order       TEXT NOT NULL,
    limits          TEXT NOT NULL CHECK (json_valid(limits)),
    created_at      TEXT NOT NULL
) STRICT;

CREATE TABLE arms (
    cohort     INTEGER NOT NULL REFERENCES cohorts (id),
    position   INTEGER NOT NULL CHECK (position >= 0),
    name       TEXT NOT NULL,
    declared   TEXT NOT NULL CHECK (json_valid(declared)),
    PRIMARY KEY (cohort, position),
    UNIQUE (cohort, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE cells (
    id           INTEGER PRIMARY KEY CHECK (id > 0),
    key          TEXT NOT NULL UNIQUE,
    task         TEXT NOT NULL,
    seed         INTEGER NOT NULL,
    repeat       INTEGER NOT NULL,
    variant      TEXT NOT NULL,
    task_digest  TEXT NOT NULL
) STRICT;

-- What a cohort calls its cells and judges them by: two cohorts that share a cell
-- may name its arm otherwise and use another version of the fixture.
CREATE TABLE cohort_cells (
    cohort           INTEGER NOT NULL,
    position         INTEGER NOT NULL CHECK (position >= 0),
    cell             INTEGER NOT NULL REFERENCES cells (id),
    arm              TEXT NOT NULL,
    fixture_version  TEXT NOT NULL,
    fixture_digest   TEXT NOT NULL,
    PRIMARY KEY (cohort, position),
    UNIQUE (cohort, cell),
    FOREIGN KEY (cohort, arm) REFERENCES arms (cohort, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempts (
    id           INTEGER PRIMARY KEY CHECK (id > 0),
    cohort       INTEGER NOT NULL,
    cell         INTEGER NOT NULL,
    number       INTEGER NOT NULL CHECK (number > 0),
    worker       TEXT,
    observed     TEXT NOT NULL CHECK (json_valid(observed)),
    environment  TEXT NOT NULL CHECK (json_valid(environment)),
    simulated    INTEGER NOT NULL CHECK (simulated IN (0, 1)),
    started_at   TEXT,
    UNIQUE (cell, number),
    UNIQUE (id, cell),
    FOREIGN KEY (cohort, cell) REFERENCES cohort_cells (cohort, cell)
) STRICT;

CREATE TABLE candidates (
    id         TEXT NOT NULL PRIMARY KEY,
    manifest   INTEGER NOT NULL REFERENCES blobs (id)
) STRICT, WITHOUT ROWID;

CREATE TABLE candidate_files (
    candidate  TEXT NOT NULL REFERENCES candidates (id),
    path       TEXT NOT NULL,
    exec       INTEGER NOT NULL CHECK (exec IN (0, 1)),
    blob       INTEGER NOT NULL REFERENCES blobs (id),
    PRIMARY KEY (candidate, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempt_ends (
    attempt            INTEGER PRIMARY KEY,
    cell               INTEGER NOT NULL,
    counts             INTEGER NOT NULL CHECK (counts IN (0, 1)),
    stop_reason        TEXT NOT NULL CHECK (stop_reason IN (
        'submitted', 'final_message', 'output_limit', 'sequence_limit', 'turn_limit', 'time_limit',
        'context_exceeded', 'malformed_calls', 'no_progress', 'empty_responses', 'reasoning_exhausted',
        'model_refused',
        'engine_lost', 'engine_changed', 'engine_rejected', 'sandbox_lost', 'grader_fault', 'interrupted')),
    stop_message       TEXT,
    limit_name         TEXT,
    limit_value        TEXT,
    limit_reached      TEXT,
    task_ns            INTEGER NOT NULL,
    turns              INTEGER NOT NULL,
    reminders          INTEGER NOT NULL,
    retries            INTEGER NOT NULL,
    candidate          TEXT REFERENCES candidates (id),
    rejected           TEXT,
    skipped            TEXT CHECK (skipped IS NULL OR json_valid(skipped)),
    protected_touched  TEXT CHECK (protected_touched IS NULL OR json_valid(protected_touched)),
    bad_calls          TEXT CHECK (bad_calls IS NULL OR json_valid(bad_calls)),
    engine_idle        TEXT CHECK (engine_idle IS NULL OR json_valid(engine_idle)),
    ended_at           TEXT,
    CHECK (counts = 0 OR stop_reason NOT IN (
        'engine_lost', 'engine_changed', 'engine_rejected', 'sandbox_lost', 'grader_fault', 'interrupted')),
    FOREIGN KEY (attempt, cell) REFERENCES attempts (id, cell)
) STRICT;

CREATE UNIQUE INDEX one_counting_attempt ON attempt_ends (cell) WHERE counts = 1;
CREATE INDEX attempt_ends_candidate ON attempt_ends (candidate);

CREATE TABLE responses (
    attempt             INTEGER NOT NULL REFERENCES attempts (id),
    n                   INTEGER NOT NULL CHECK (n > 0),
    turn                INTEGER NOT NULL,
    status              INTEGER,
    streamed            INTEGER NOT NULL CHECK (streamed IN (0, 1)),
    complete            INTEGER NOT NULL CHECK (complete IN (0, 1)),
    finish_raw          TEXT,
    finish              TEXT,
    response_id         TEXT,
    model               TEXT,
    fingerprint         TEXT,
    text_bytes          INTEGER NOT NULL,
    reasoning_bytes     INTEGER NOT NULL,
    reasoning_field     TEXT,
    refusal             TEXT,
    tool_calls          INTEGER NOT NULL,
    token_events        INTEGER NOT NULL,
    request             INTEGER REFERENCES blobs (id),
    raw                 INTEGER REFERENCES blobs (id),
    raw_total           INTEGER NOT NULL,
    started_at          TEXT,
    first_byte_ns       INTEGER,
    first_token_ns      INTEGER,
    first_answer_ns     INTEGER,
    last_token_ns       INTEGER,
    end_ns              INTEGER,
    simulated_ns        INTEGER,
    fault               TEXT,
    fault_message       TEXT,
    fault_url           TEXT,
    fault_status        INTEGER,
    fault_prompt_tokens INTEGER,
    fault_context_size  INTEGER,
    fault_retry_ns      INTEGER,
    PRIMARY KEY (attempt, n)
) STRICT, WITHOUT ROWID;

-- One row for every response, narrow, so that sums over many are cheap.
CREATE TABLE response_timings (
    attempt            INTEGER NOT NULL,
    n                  INTEGER NOT NULL,
    has_timings        INTEGER NOT NULL CHECK (has_timings IN (0, 1)),
    cache_n            INTEGER,
    prompt_n           INTEGER,
    prompt_ms          REAL,
    predicted_n        INTEGER,
    predicted_ms       REAL,
    draft_n            INTEGER,
    draft_n_accepted   INTEGER,
    usage_prompt       INTEGER,
    usage_completion   INTEGER,
    usage_cached       INTEGER,
    usage_reasoning    INTEGER,
    PRIMARY KEY (attempt, n),
    FOREIGN KEY (attempt, n) REFERENCES responses (attempt, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE steps (
    attempt     INTEGER NOT NULL REFERENCES attempts (id),
    step        INTEGER NOT NULL CHECK (step >= 0),
    turn        INTEGER NOT NULL,
    kind        TEXT NOT NULL,
    tool        TEXT,
    call_id     TEXT,
    arguments   INTEGER REFERENCES blobs (id),
    answer      INTEGER REFERENCES blobs (id),
    bad         TEXT,
    ok          INTEGER NOT NULL CHECK (ok IN (0, 1)),
    started_at  TEXT,
    elapsed_ns  INTEGER NOT NULL,
    PRIMARY KEY (attempt, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE gradings (
    id               INTEGER PRIMARY KEY CHECK (id > 0),
    attempt          INTEGER NOT NULL REFERENCES attempt_ends (attempt),
    candidate        TEXT REFERENCES candidates (id),
    task             TEXT NOT NULL,
    fixture_version  TEXT NOT NULL,
    fixture_digest   TEXT NOT NULL,
    environment      TEXT NOT NULL CHECK (json_valid(environment)),
    judge            TEXT NOT NULL CHECK (json_valid(judge)),
    limits           TEXT NOT NULL CHECK (json_valid(limits)),
    complete         INTEGER NOT NULL CHECK (complete IN (0, 1)),
    fault            TEXT,
    flags            TEXT CHECK (flags IS NULL OR json_valid(flags)),
    secret           BLOB,
    frames           INTEGER REFERENCES blobs (id),
    started_at       TEXT,
    elapsed_ns       INTEGER NOT NULL
) STRICT;

CREATE INDEX gradings_attempt ON gradings (attempt);

CREATE TABLE checks (
    grading     INTEGER NOT NULL REFERENCES gradings (id),
    position    INTEGER NOT NULL CHECK (position >= 0),
    id          TEXT NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('passed', 'failed', 'not_run')),
    message     TEXT,
    flags       TEXT CHECK (flags IS NULL OR json_valid(flags)),
    elapsed_ns  INTEGER NOT NULL,
    PRIMARY KEY (grading, position),
    UNIQUE (grading, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    id          INTEGER PRIMARY KEY CHECK (id > 0),
    cohort      INTEGER REFERENCES cohorts (id),
    kind        TEXT NOT NULL,
    at          TEXT,
    arm         TEXT,
    task        TEXT,
    seed        INTEGER,
    repeat      INTEGER,
    attempt     INTEGER REFERENCES attempts (id),
    done        INTEGER NOT NULL,
    planned     INTEGER NOT NULL,
    message     TEXT
) STRICT;

CREATE INDEX events_cohort ON events (cohort);

-- Rows are inserted and then left alone. The third trigger of each table stands
-- against INSERT OR REPLACE, which deletes without firing a delete trigger unless
-- the connection asked for recursive triggers.

CREATE TRIGGER formats_no_update BEFORE UPDATE ON formats
BEGIN SELECT RAISE(ABORT, 'formats is append-only: a row is never updated'); END;
CREATE TRIGGER formats_no_delete BEFORE DELETE ON formats
BEGIN SELECT RAISE(ABORT, 'formats is append-only: a row is never deleted'); END;
CREATE TRIGGER formats_no_replace BEFORE INSERT ON formats
WHEN EXISTS (SELECT 1 FROM formats WHERE format = NEW.format)
BEGIN SELECT RAISE(ABORT, 'formats is append-only: a row is never replaced'); END;

CREATE TRIGGER blobs_no_update BEFORE UPDATE ON blobs
BEGIN SELECT RAISE(ABORT, 'blobs is append-only: a row is never updated'); END;
CREATE TRIGGER blobs_no_delete BEFORE DELETE ON blobs
BEGIN SELECT RAISE(ABORT, 'blobs is append-only: a row is never deleted'); END;
CREATE TRIGGER blobs_no_replace BEFORE INSERT ON blobs
WHEN EXISTS (SELECT 1 FROM blobs WHERE id = NEW.id)
    OR EXISTS (SELECT 1 FROM blobs WHERE sha256 = NEW.sha256)
BEGIN SELECT RAISE(ABORT, 'blobs is append-only: a row is never replaced'); END;

CREATE TRIGGER cohorts_no_update BEFORE UPDATE ON cohorts
BEGIN SELECT RAISE(ABORT, 'cohorts is append-only: a row is never updated'); END;
CREATE TRIGGER cohorts_no_delete BEFORE DELETE ON cohorts
BEGIN SELECT RAISE(ABORT, 'cohorts is append-only: a row is never deleted'); END;
CREATE TRIGGER cohorts_no_replace BEFORE INSERT ON cohorts
WHEN EXISTS (SELECT 1 FROM cohorts WHERE id = NEW.id)
    OR EXISTS (SELECT 1 FROM cohorts WHERE identity = NEW.identity)
BEGIN SELECT RAISE(ABORT, 'cohorts is append-only: a row is never replaced'); END;

CREATE TRIGGER arms_no_update BEFORE UPDATE ON arms
BEGIN SELECT RAISE(ABORT, 'arms is append-only: a row is never updated'); END;
CREATE TRIGGER arms_no_delete BEFORE DELETE ON arms
BEGIN SELECT RAISE(ABORT, 'arms is append-only: a row is never deleted'); END;
CREATE TRIGGER arms_no_replace BEFORE INSERT ON arms
WHEN EXISTS (SELECT 1 FROM arms WHERE cohort = NEW.cohort AND position = NEW.position)
    OR EXISTS (SELECT 1 FROM arms WHERE cohort = NEW.cohort AND name = NEW.name)
BEGIN SELECT RAISE(ABORT, 'arms is append-only: a row is never replaced'); END;

CREATE TRIGGER cells_no_update BEFORE UPDATE ON cells
BEGIN SELECT RAISE(ABORT, 'cells is append-only: a row is never updated'); END;
CREATE TRIGGER cells_no_delete BEFORE DELETE ON cells
BEGIN SELECT RAISE(ABORT, 'cells is append-only: a row is never deleted'); END;
CREATE TRIGGER cells_no_replace BEFORE INSERT ON cells
WHEN EXISTS (SELECT 1 FROM cells WHERE id = NEW.id)
    OR EXISTS (SELECT 1 FROM cells WHERE key = NEW.key)
BEGIN SELECT RAISE(ABORT, 'cells is append-only: a row is never replaced'); END;

CREATE TRIGGER cohort_cells_no_update BEFORE UPDATE ON cohort_cells
BEGIN SELECT RAISE(ABORT, 'cohort_cells is append-only: a row is never updated'); END;
CREATE TRIGGER cohort_cells_no_delete BEFORE DELETE ON cohort_cells
BEGIN SELECT RAISE(ABORT, 'cohort_cells is append-only: a row is never deleted'); END;
CREATE TRIGGER cohort_cells_no_replace BEFORE INSERT ON cohort_cells
WHEN EXISTS (SELECT 1 FROM cohort_cells WHERE cohort = NEW.cohort AND position = NEW.position)
    OR EXISTS (SELECT 1 FROM cohort_cells WHERE cohort = NEW.cohort AND cell = NEW.cell)
BEGIN SELECT RAISE(ABORT, 'cohort_cells is append-only: a row is never replaced'); END;

CREATE TRIGGER attempts_no_update BEFORE UPDATE ON attempts
BEGIN SELECT RAISE(ABORT, 'attempts is append-only: a row is never updated'); END;
CREATE TRIGGER attempts_no_delete BEFORE DELETE ON attempts
BEGIN SELECT RAISE(ABORT, 'attempts is append-only: a row is never deleted'); END;
CREATE TRIGGER attempts_no_replace BEFORE INSERT ON attempts
WHEN EXISTS (SELECT 1 FROM attempts WHERE id = NEW.id)
    OR EXISTS (SELECT 1 FROM attempts WHERE cell = NEW.cell AND number = NEW.number)
BEGIN SELECT RAISE(ABORT, 'attempts is append-only: a row is never replaced'); END;

CREATE TRIGGER candidates_no_update BEFORE UPDATE ON candidates
BEGIN SELECT RAISE(ABORT, 'candidates is append-only: a row is never updated'); END;
CREATE TRIGGER candidates_no_delete BEFORE DELETE ON candidates
BEGIN SELECT RAISE(ABORT, 'candidates is append-only: a row is never deleted'); END;
CREATE TRIGGER candidates_no_replace BEFORE INSERT ON candidates
WHEN EXISTS (SELECT 1 FROM candidates WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'candidates is append-only: a row is never replaced'); END;

CREATE TRIGGER candidate_files_no_update BEFORE UPDATE ON candidate_files
BEGIN SELECT RAISE(ABORT, 'candidate_files is append-only: a row is never updated'); END;
CREATE TRIGGER candidate_files_no_delete BEFORE DELETE ON candidate_files
BEGIN SELECT RAISE(ABORT, 'candidate_files is append-only: a row is never deleted'); END;
CREATE TRIGGER candidate_files_no_replace BEFORE INSERT ON candidate_files
WHEN EXISTS (SELECT 1 FROM candidate_files WHERE candidate = NEW.candidate AND path = NEW.path)
BEGIN SELECT RAISE(ABORT, 'candidate_files is append-only: a row is never replaced'); END;

CREATE TRIGGER attempt_ends_no_update BEFORE UPDATE ON attempt_ends
BEGIN SELECT RAISE(ABORT, 'attempt_ends is append-only: a row is never updated'); END;
CREATE TRIGGER attempt_ends_no_delete BEFORE DELETE ON attempt_ends
BEGIN SELECT RAISE(ABORT, 'attempt_ends is append-only: a row is never deleted'); END;
CREATE TRIGGER attempt_ends_no_replace BEFORE INSERT ON attempt_ends
WHEN EXISTS (SELECT 1 FROM attempt_ends WHERE attempt = NEW.attempt)
    OR EXISTS (SELECT 1 FROM attempt_ends WHERE cell = NEW.cell AND counts = 1 AND NEW.counts = 1)
BEGIN SELECT RAISE(ABORT, 'attempt_ends is append-only: a row is never replaced'); END;

CREATE TRIGGER responses_no_update BEFORE UPDATE ON responses
BEGIN SELECT RAISE(ABORT, 'responses is append-only: a row is never updated'); END;
CREATE TRIGGER responses_no_delete BEFORE DELETE ON responses
BEGIN SELECT RAISE(ABORT, 'responses is append-only: a row is never deleted'); END;
CREATE TRIGGER responses_no_replace BEFORE INSERT ON responses
WHEN EXISTS (SELECT 1 FROM responses WHERE attempt = NEW.attempt AND n = NEW.n)
BEGIN SELECT RAISE(ABORT, 'responses is append-only: a row is never replaced'); END;

CREATE TRIGGER response_timings_no_update BEFORE UPDATE ON response_timings
BEGIN SELECT RAISE(ABORT, 'response_timings is append-only: a row is never updated'); END;
CREATE TRIGGER response_timings_no_delete BEFORE DELETE ON response_timings
BEGIN SELECT RAISE(ABORT, 'response_timings is append-only: a row is never deleted'); END;
CREATE TRIGGER response_timings_no_replace BEFORE INSERT ON response_timings
WHEN EXISTS (SELECT 1 FROM response_timings WHERE attempt = NEW.attempt AND n = NEW.n)
BEGIN SELECT RAISE(ABORT, 'response_timings is append-only: a row is never replaced'); END;

CREATE TRIGGER steps_no_update BEFORE UPDATE ON steps
BEGIN SELECT RAISE(ABORT, 'steps is append-only: a row is never updated'); END;
CREATE TRIGGER steps_no_delete BEFORE DELETE ON steps
BEGIN SELECT RAISE(ABORT, 'steps is append-only: a row is never deleted'); END;
CREATE TRIGGER steps_no_replace BEFORE INSERT ON steps
WHEN EXISTS (SELECT 1 FROM steps WHERE attempt = NEW.attempt AND step = NEW.step)
BEGIN SELECT RAISE(ABORT, 'steps is append-only: a row is never replaced'); END;

CREATE TRIGGER gradings_no_update BEFORE UPDATE ON gradings
BEGIN SELECT RAISE(ABORT, 'gradings is append-only: a row is never updated'); END;
CREATE TRIGGER gradings_no_delete BEFORE DELETE ON gradings
BEGIN SELECT RAISE(ABORT, 'gradings is append-only: a row is never deleted'); END;
CREATE TRIGGER gradings_no_replace BEFORE INSERT ON gradings
WHEN EXISTS (SELECT 1 FROM gradings WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'gradings is append-only: a row is never replaced'); END;

CREATE TRIGGER checks_no_update BEFORE UPDATE ON checks
BEGIN SELECT RAISE(ABORT, 'checks is append-only: a row is never updated'); END;
CREATE TRIGGER checks_no_delete BEFORE DELETE ON checks
BEGIN SELECT RAISE(ABORT, 'checks is append-only: a row is never deleted'); END;
CREATE TRIGGER checks_no_replace BEFORE INSERT ON checks
WHEN EXISTS (SELECT 1 FROM checks WHERE grading = NEW.grading AND position = NEW.position)
    OR EXISTS (SELECT 1 FROM checks WHERE grading = NEW.grading AND id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'checks is append-only: a row is never replaced'); END;

CREATE TRIGGER events_no_update BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events is append-only: a row is never updated'); END;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events is append-only: a row is never deleted'); END;
CREATE TRIGGER events_no_replace BEFORE INSERT ON events
WHEN EXISTS (SELECT 1 FROM events WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'events is append-only: a row is never replaced'); END;

PRAGMA application_id = 1634956153; -- "assy"
PRAGMA user_version = 1;

-- +goose StatementEnd
