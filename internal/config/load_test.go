package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"assay/internal/bench"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func known() Known { return Known{Tasks: []string{"ledger", "router", "intervals"}} }

// lines returns one text per fault, without the file's name.
func lines(t *testing.T, text string) []string {
	t.Helper()
	_, err := Load("study.toml", []byte(text), known())
	if err == nil {
		return nil
	}
	var faults Faults
	if !errors.As(err, &faults) {
		t.Fatalf("error is %T, not Faults: %v", err, err)
	}
	var out []string
	for _, f := range faults {
		out = append(out, strings.TrimPrefix(f.Error(), "study.toml:"))
	}
	return out
}

func load(t *testing.T, text string) Study {
	t.Helper()
	s, err := Load("dir/study.toml", []byte(text), known())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// numbered repeats a format more often than a file may have keys.
func numbered(format string) string {
	var b strings.Builder
	for i := range maxKeys + 1 {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

const urlArm = "[[arm]]\nname = \"a\"\nurl = \"http://h:1\"\n"

func TestManyFaultsAtOnce(t *testing.T) {
	text := `schema = 1
[coding]
tasks = ["ledger", "legder"]
seeds = [1, 0, 1]
repeats = "two"
oder = "rounds"
[coding.limits]
max_turns = 0
max_output_tokens = 9000
max_sequence_tokens = 8192
[sampling]
temperature = -0.5
top_p = 1.5
[[arm]]
name = "q4"
url = "http://127.0.0.1:8080"
[[arm]]
name = "q4"
url = "http://user:secret@127.0.0.1:8081"
command = "llama-server --port {port}"
[[arm]]
name = "q3"
max_turns = 3
`
	want := []string{
		`3: [coding] tasks: unknown task "legder"; did you mean ledger?`,
		`4: [coding] seeds: must be at least 1, is 0`,
		`4: [coding] seeds: seed 1 is listed twice, first on line 4`,
		`5: [coding] repeats: must be a whole number, is "two"`,
		`6: [coding] oder: unknown key; did you mean order?`,
		`8: [coding.limits] max_turns: must be at least 1, is 0`,
		`9: [coding.limits] max_output_tokens: must not be more than max_sequence_tokens (8192), is 9000`,
		`12: [sampling] temperature: must be at least 0, is -0.5`,
		`13: [sampling] top_p: must be at most 1, is 1.5`,
		`18: [[arm]] name: "q4" is already the name of the arm on line 14; give one of them another name`,
		`19: [[arm]] url: must not hold a user or password; name the variable that holds the key in key_env`,
		`20: [[arm]] command: stands beside url on line 19: an arm has one of them, a running server or one that assay starts`,
		`21: [[arm]]: has neither url nor command, and there is no [server] command to inherit`,
		`23: [[arm]] max_turns: unknown key; it belongs to [coding.limits]`,
	}
	if diff := cmp.Diff(want, lines(t, text)); diff != "" {
		t.Error(diff)
	}
}

func TestFaults(t *testing.T) {
	server := "schema = 1\n[server]\ncommand = \"llama-server -m {model} {spec} --port {port}\"\n"
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"empty":        {"", []string{`1: the file has no settings: a study begins with "schema = 1" and has at least one [[arm]]`}},
		"comments":     {"# nothing\n\n", []string{`1: the file has no settings: a study begins with "schema = 1" and has at least one [[arm]]`}},
		"no schema":    {urlArm, []string{`1: schema: missing; write schema = 1 as the first line`}},
		"other schema": {"\nschema = 2\n" + urlArm, []string{`2: schema: 2 is not supported, this assay reads schema 1`}},
		"schema text":  {"schema = \"1\"\n" + urlArm, []string{`1: schema: must be a whole number, is "1"`}},
		"no arm":       {"schema = 1\n", []string{`1: arm: there is no arm; add [[arm]] with a url, or with a model and [server] command`}},
		"one bracket":  {"schema = 1\n[arm]\nurl = \"http://h\"\n", []string{`2: arm: must be written [[arm]], with two brackets, once per arm, is a table`}},
		"syntax":       {"schema = 1\n[[arm]]\nurl = \n", []string{`3: not valid TOML: unexpected character U+000A at start of value`}},
		"open string":  {"schema = 1\r\n\r\nname = \"abc\r\n", []string{`3: not valid TOML: basic strings cannot have new lines`}},
		"number":       {"schema = 1\n" + urlArm + "parallel = 99999999999999999999\n", []string{`5: number 99999999999999999999 does not fit into 64 bits`}},
		"twice": {"schema = 1\n" + urlArm + "url = \"http://x\"\nname = \"b\"\n", []string{
			`5: url: is already set on line 4`, `6: name: is already set on line 3`,
		}},
		"table twice": {"schema = 1\n[agent]\nreminder = 1\n[agent]\n" + urlArm, []string{
			`3: [agent] reminder: must be true or false, is 1`, `4: table "agent" is already defined on line 2`,
		}},
		"value as table": {"schema = 1\nagent = 3\n[agent]\n" + urlArm, []string{
			`2: agent: must be a table, written [agent], is 3`, `3: table "agent" is already defined on line 2`,
		}},
		"dotted redefinition": {"schema = 1\nagent.reminder = true\n[agent]\n" + urlArm, []string{
			`3: not valid TOML: table agent already exists as defined by a dotted key`,
		}},
		"not utf-8":       {"schema = 1\n# caf\xe9\n", []string{`2: not UTF-8: save the file as UTF-8 text`}},
		"too large":       {strings.Repeat("#", maxFileBytes+1), []string{`1: the file has 1048577 bytes, the limit for a study is 1048576`}},
		"long key":        {"schema = 1\n" + strings.Repeat("a.", 40) + "a = 1\n" + urlArm, []string{`2: a key has at most 32 parts, this one has 41`}},
		"too many keys":   {"schema = 1\n" + urlArm + "extra_body = {" + numbered("k%d = 1, ") + "z = 1}\n", []string{`5: the file has more than 10000 keys and tables`}},
		"too many tables": {"schema = 1\n" + numbered("[t%d]\n"), []string{`10001: the file has more than 10000 keys and tables`}},
		"unknown root":    {"schema = 1\nrepeats = 3\n[gaurd]\n" + urlArm, []string{`2: repeats: unknown key; it belongs to [coding]`, `3: gaurd: unknown key`}},
		"name":            {"schema = 1\n[[arm]]\nname = \"a\\u001b[31m\"\nurl = \"http://h\"\n", []string{`3: [[arm]] name: must not have control or invisible characters, is "a\x1b[31m"`}},
		"bidi name":       {"schema = 1\n[[arm]]\nname = \"a\u202eb\"\nurl = \"http://h\"\n", []string{`3: [[arm]] name: must not have control or invisible characters, is "a\u202eb"`}},
		"long name":       {"schema = 1\n[[arm]]\nname = \"" + strings.Repeat("é", 65) + "\"\nurl = \"http://h\"\n", []string{`3: [[arm]] name: must have at most 64 characters, has 65`}},
		"no name":         {"schema = 1\n[[arm]]\nurl = \"http://h\"\n", []string{`2: [[arm]] name: missing, and there is no model to take it from; write name = "…"`}},
		"same stem": {server + "[[arm]]\nmodel = \"x/q.gguf\"\n[[arm]]\nmodel = \"y/q.gguf\"\n", []string{
			`6: [[arm]] name: "q" is already the name of the arm on line 4; give one of them another name`,
		}},
		"arm of [server] without model": {server + "[[arm]]\nname = \"a\"\n", []string{`4: [[arm]] model: missing; an arm that inherits the command of [server] needs one`}},
		"key in key_env": {"schema = 1\n" + urlArm + "key_env = \"sk-abc-123\"\n", []string{
			`5: [[arm]] key_env: must be the name of an environment variable (letters, digits, _), never the key itself`,
		}},
		"command": {"schema = 1\n[server]\ncommand = \"srv 'x {modle} --api-key z\"\n[[arm]]\nmodel = \"m\"\n", []string{
			`3: [server] command: has a quote that is not closed`,
			`3: [server] command: has {modle}; only {model}, {port}, {spec} are filled`,
			`3: [server] command: has no {port}; assay gives every server a free one`,
			`3: [server] command: has no {model}, so every arm would run the same one`,
		}},
		"key in command": {"schema = 1\n[[arm]]\nname = \"a\"\ncommand = \"srv --port {port} --api-key x\"\n", []string{
			`4: [[arm]] command: holds an API key, and the study file is kept in the database; use the server's key file or environment variable, and key_env`,
		}},
		"mtp": {server + "mtp = -1\n[[arm]]\nmodel = \"m\"\nmtp = [1, 1, \"x\", 65]\n", []string{
			`4: [server] mtp: must be at least 0, is -1`,
			`7: [[arm]] mtp: depth 1 is listed twice`,
			`7: [[arm]] mtp: must be a whole number, is "x"`,
			`7: [[arm]] mtp: must be at most 64, is 65`,
		}},
		"mtp without spec":  {"schema = 1\n[[arm]]\nname = \"a\"\ncommand = \"s {port}\"\nmtp = 3\n", []string{`5: [[arm]] mtp: has no effect: the command has no {spec}`}},
		"mtp list on a url": {"schema = 1\n" + urlArm + "mtp = [1]\n", []string{`5: [[arm]] mtp: is a list, but a running server has one depth; write one [[arm]] per server`}},
		"extra_body": {"schema = 1\n" + urlArm + "extra_body = {model = \"x\", a = nan, d = 1979-05-27, seed = 1}\n", []string{
			`5: [[arm]] extra_body.model: cannot be set here: set model of the arm`,
			`5: [[arm]] extra_body.a: JSON has no nan`,
			`5: [[arm]] extra_body.d: JSON has no dates; write it as a string`,
			`5: [[arm]] extra_body.seed: cannot be set here: assay sets it`,
		}},
		"rig": {"schema = 1\n[rig.east]\ntelemetry = \"of\"\n" + urlArm + "rig = \"esat\"\n", []string{
			`3: [rig.east] telemetry: must be one of auto, off, is "of"`,
			`7: [[arm]] rig: there is no rig "esat"; did you mean east?`,
		}},
		"arm tables": {"schema = 1\n" + urlArm + "[arm.sampling]\ntop_k = 1.5\n[arm.expect]\nslots = 0\nslot = 1\n", []string{
			`6: [arm.sampling] top_k: must be a whole number, is 1.5`,
			`8: [arm.expect] slots: must be at least 1, is 0`,
			`9: [arm.expect] slot: unknown key; did you mean slots?`,
		}},
		"compare": {"schema = 1\n[compare]\nbaseline = \"b\"\nmargin = 1\nvaries = [\"engine\", \"engine\"]\n" + urlArm, []string{
			`3: [compare] baseline: there is no arm "b"; did you mean a?`,
			`4: [compare] margin: must be between 0 and 1 (0.15 is 15 points of a rate), is 1`,
			`5: [compare] varies: "engine" is listed twice`,
		}},
		"grading": {"schema = 1\n[grading]\nsandbox = \"podman\"\noverlap = true\nafter_arm = true\n" + urlArm, []string{
			`3: [grading] sandbox: must be one of auto, docker, bwrap, is "podman"`,
			`5: [grading] after_arm: contradicts overlap = true on line 4`,
		}},
		"lists over lines": {"schema = 1\n[coding]\nseeds = [\n  1,\n  -2,\n  1.5,\n]\ntasks = [\n\n 7]\n" + urlArm, []string{
			`5: [coding] seeds: must be at least 1, is -2`,
			`6: [coding] seeds: must be a whole number, is 1.5`,
			`10: [coding] tasks: must be a list of task names, is 7`,
		}},
		"limits": {"schema = 1\n[coding.limits]\nmax_seconds = \"fast\"\ncommand_seconds = 0.5\nidle_seconds = inf\ntool_output_bytes = 10\ninvalid_retries = -1\n" + urlArm, []string{
			`3: [coding.limits] max_seconds: must be "auto" or a number of seconds, is "fast"`,
			`4: [coding.limits] command_seconds: must be at least 1, is 0.5`,
			`5: [coding.limits] idle_seconds: must be a finite number, is inf`,
			`6: [coding.limits] tool_output_bytes: must be at least 256, is 10`,
			`7: [coding.limits] invalid_retries: must be at least 0, is -1`,
		}},
		"command over total": {"schema = 1\n[coding.limits]\nmax_seconds = 30\n" + urlArm, []string{
			`3: [coding.limits] command_seconds: must not be more than max_seconds (30), is 60`,
		}},
		"default output over sequence": {"schema = 1\n[coding.limits]\nmax_sequence_tokens = 4096\n" + urlArm, []string{
			`3: [coding.limits] max_output_tokens: must not be more than max_sequence_tokens (4096), is 49152`,
		}},
		"too many cells": {"schema = 1\n[coding]\nseeds = 10000\nrepeats = 1000\n" + urlArm, []string{
			`2: [coding]: 1 arms x 3 tasks x 10000 seeds x 1000 repeats are 30000000 cells, the limit is 1000000`,
		}},
		"sampling": {"schema = 1\n[sampling]\nrepeat_penalty = 0\nmin_p = \"default\"\npresence_penalty = nan\n" + urlArm, []string{
			`3: [sampling] repeat_penalty: must be more than 0, is 0`,
			`4: [sampling] min_p: must be a number or "server default", is "default"`,
			`5: [sampling] presence_penalty: must be a finite number, is nan`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, lines(t, tc.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBadURLs(t *testing.T) {
	for _, bad := range []string{
		"", " ", "h:80", "ftp://h", "http://", "http://:80", "http://h:0", "http://h:65536", "http://h:", "http://h:x",
		"http://h?key=1", "http://h?", "http://h#", "http://h#x", "http://u@h", "http://u:p@h", "http://h\x00", " http://h",
		"http://[::1", "//h", "http://h/%zz", "http://" + strings.Repeat("h", maxURLBytes),
	} {
		if badURL(bad) == "" {
			t.Errorf("%q is accepted", bad)
		}
	}
	for _, good := range []string{"http://h", "http://h:8080", "https://h/v1", "http://[::1]:8080/", "http://127.0.0.1:65535/a/b"} {
		if why := badURL(good); why != "" {
			t.Errorf("%q: %s", good, why)
		}
	}
}

func TestFaultRepeatsNoSecret(t *testing.T) {
	text := "schema = 1\n[[arm]]\nname = \"a\"\nurl = \"http://u:hunter2@h:99999/?key=hunter2\"\nkey_env = \"hunter2!\"\n"
	got := strings.Join(lines(t, text), "\n")
	if strings.Contains(got, "hunter2") || !strings.Contains(got, "key_env") {
		t.Errorf("faults: %s", got)
	}
}

func TestSmallestStudy(t *testing.T) {
	text := `schema = 1
[server]
command = "llama-server -m {model} -c 81920 -np 1 {spec} --port {port}"
mtp = 3
[[arm]]
model = "/models/Q4_K_M.gguf"
[[arm]]
model = "IQ4_XS.gguf"
mtp = [0, 2]
[[arm]]
url = "http://10.0.0.2:8080/"
model = "org/m-1.5"
[arm.sampling]
temperature = 0
`
	got := load(t, text)
	command := "llama-server -m {model} -c 81920 -np 1 {spec} --port {port}"
	num := func(n int) *int { return &n }
	zero := 0.0
	arm := func(name, model, command string, mtp *int, line int) Arm {
		return Arm{Arm: bench.Arm{Name: name, Model: model, Command: command, Replay: bench.ReplayAsSent}, MTP: mtp, Parallel: 1, Line: line}
	}
	byURL := arm("m-1.5", "org/m-1.5", "", nil, 10)
	byURL.URL = "http://10.0.0.2:8080/"
	byURL.Sampling.Temperature = &zero
	want := Study{
		Path: "dir/study.toml", Name: "study", Text: []byte(text), Digest: got.Digest,
		Arms: []Arm{
			arm("Q4_K_M", "/models/Q4_K_M.gguf", command, num(3), 5),
			arm("IQ4_XS-mtp0", "IQ4_XS.gguf", command, num(0), 7),
			arm("IQ4_XS-mtp2", "IQ4_XS.gguf", command, num(2), 7),
			byURL,
		},
		Tasks: []string{"ledger", "router", "intervals"}, Seeds: []int{1, 2, 3}, Repeats: 1,
		Variants: bench.VariantSeeded, Fixtures: Newest, Order: OrderRounds,
		Limits: bench.Limits{
			MaxOutputTokens: 49152, MaxTurns: 60, MaxTime: 2 * time.Hour, CommandTime: time.Minute,
			ToolOutputBytes: 16384, IdleTime: 5 * time.Minute, MaxMalformedCalls: 8, InvalidRetries: 2,
		},
		AutoSeconds: true, Reminder: true, Sandbox: "auto", Overlap: true, Compare: Compare{Baseline: "Q4_K_M"},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Study{})); diff != "" {
		t.Error(diff)
	}
}

func TestEverythingSet(t *testing.T) {
	text := `schema = 1
name = "night"
[coding]
tasks = ["router", "ledger"]
seeds = 2
repeats = 2
variants = "fixed"
fixtures = "v1.0.0"
order = "blocked"
[coding.limits]
max_output_tokens = 1_000
max_sequence_tokens = 2000
max_turns = 5
max_seconds = 90.5
command_seconds = 10
tool_output_bytes = 1024
idle_seconds = 20
max_malformed_calls = 3
invalid_retries = 0
[sampling]
temperature = 0.6
top_k = 20
[agent]
replay_reasoning = "strip"
reminder = false
[grading]
sandbox = "bwrap"
after_arm = true
[rig.west]
telemetry = "off"
[compare]
baseline = "b"
margin = 0.15
varies = ["engine", "gpu"]
[[arm]]
name = "b"
url = "http://h:1"
key_env = "MY_KEY"
parallel = 2
rig = "west"
mtp = 3
replay_reasoning = "as_sent"
extra_body = {chat_template_kwargs = {enable_thinking = false, n = [1, 2.5]}, cache_prompt = true}
expect = {slots = 2, kind = "llama.cpp"}
[arm.sampling]
temperature = "server default"
min_p = 0.05
`
	got := load(t, text)
	depth, minP, margin, topK, slots, kind := 3, 0.05, 0.15, int64(20), int64(2), "llama.cpp"
	want := Study{
		Path: "dir/study.toml", Name: "night", Text: []byte(text), Digest: got.Digest,
		Arms: []Arm{{
			Arm: bench.Arm{
				Name: "b", URL: "http://h:1", KeyEnv: "MY_KEY", Replay: bench.ReplayAsSent,
				Sampling: bench.Sampling{TopK: &topK, MinP: &minP},
				ExtraBody: map[string]json.RawMessage{
					"chat_template_kwargs": json.RawMessage(`{"enable_thinking":false,"n":[1,2.5]}`),
					"cache_prompt":         json.RawMessage(`true`),
				},
			},
			MTP: &depth, Parallel: 2, Rig: "west", Expect: Expect{Slots: &slots, Kind: &kind}, Line: 35,
		}},
		Tasks: []string{"router", "ledger"}, Seeds: []int{1, 2}, Repeats: 2,
		Variants: bench.VariantFixed, Fixtures: "v1.0.0", Order: OrderBlocked,
		Limits: bench.Limits{
			MaxOutputTokens: 1000, MaxSequenceTokens: 2000, MaxTurns: 5, MaxTime: 90500 * time.Millisecond,
			CommandTime: 10 * time.Second, ToolOutputBytes: 1024, IdleTime: 20 * time.Second, MaxMalformedCalls: 3,
		},
		Sandbox: "bwrap", AfterArm: true,
		Rigs:    []Rig{{Name: "west", Telemetry: "off"}},
		Compare: Compare{Baseline: "b", Margin: &margin, Varies: []string{"engine", "gpu"}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Study{})); diff != "" {
		t.Error(diff)
	}
}

func TestLineEndsAndMark(t *testing.T) {
	text := "schema = 1\n" + urlArm
	plain := load(t, text)
	crlf := load(t, "\xef\xbb\xbf"+strings.ReplaceAll(text, "\n", "\r\n"))
	if diff := cmp.Diff(plain, crlf, cmpopts.IgnoreUnexported(Study{}), cmpopts.IgnoreFields(Study{}, "Text", "Digest")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(plain.Explain(), crlf.Explain()); diff != "" {
		t.Error(diff)
	}
}

func TestExplainTellsOrigins(t *testing.T) {
	got := map[string]Setting{}
	s := load(t, "schema = 1\n[server]\ncommand = \"s {model} {port}\"\n[coding]\nseeds = [4, 9]\n[grading]\nafter_arm = true\n"+
		"[sampling]\ntop_p = 0.95\n[[arm]]\nmodel = \"m.gguf\"\n")
	for _, x := range s.Explain() {
		if _, twice := got[x.Key]; twice {
			t.Errorf("%s is listed twice", x.Key)
		}
		got[x.Key] = x
	}
	for _, want := range []Setting{
		{"name", "study", "file name"},
		{"coding.seeds", "4, 9", "study.toml:5"},
		{"coding.repeats", "1", "default"},
		{"coding.tasks", "core (ledger, router, intervals)", "default"},
		{"coding.limits.max_seconds", "auto (7200 until speed is measured)", "default"},
		{"grading.overlap", "false", "follows from after_arm, study.toml:7"},
		{"sampling.top_p", "0.95", "study.toml:9"},
		{"sampling.top_k", "server default", "default"},
		{"compare.baseline", "m", "default: first arm"},
		{"arm.m.name", "m", "from model, study.toml:11"},
		{"arm.m.command", "s {model} {port}", "inherited from [server], study.toml:3"},
	} {
		if diff := cmp.Diff(want, got[want.Key]); diff != "" {
			t.Error(diff)
		}
	}
	s.Explain()[0].Value = "changed"
	if s.Explain()[0].Value == "changed" {
		t.Error("Explain hands out the study's own list")
	}
}

func TestFaultTextIsBounded(t *testing.T) {
	_, err := Load("s.toml", []byte("schema = 1\n"+urlArm+strings.Repeat("\"\\u0001"+strings.Repeat("x", 300)+"\" = 1\n", 1)), known())
	if n := len(err.Error()); n > 200 {
		t.Errorf("one key makes %d bytes: %s", n, err)
	}
	var many strings.Builder
	many.WriteString("schema = 1\n" + urlArm)
	for i := range 500 {
		many.WriteString("k" + strings.Repeat("x", i%7+8) + string(rune('a'+i%26)) + "_" + strings.Repeat("z", i) + " = 1\n")
	}
	_, err = Load("s.toml", []byte(many.String()), known())
	got := strings.Split(err.Error(), "\n")
	if len(got) != faultsShown+1 || got[faultsShown] != "and 400 more faults" {
		t.Errorf("%d lines, the last %q", len(got), got[len(got)-1])
	}
}

// A file read whole comes in a slice with room behind it.
func TestCutFilesInRoomySlices(t *testing.T) {
	whole := "schema = 1\n[coding]\nseeds = [1, 2]\n[[arm]]\nname = 'a'\nurl = \"http://h\"\nextra_body = {a = {b = 1.5}}\n"
	for n := range len(whole) {
		roomy := append(make([]byte, 0, 512), whole[:n]...)
		_, err := Load("s.toml", roomy, known())
		_, tight := Load("s.toml", []byte(whole[:n]), known())
		if diff := cmp.Diff(tight, err); diff != "" {
			t.Errorf("cut at %d: %s", n, diff)
		}
	}
}
