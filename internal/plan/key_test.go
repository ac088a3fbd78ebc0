package plan

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"assay/internal/bench"
	"assay/internal/config"

	"github.com/google/go-cmp/cmp"
)

const keyStudy = `schema = 1
[[arm]]
name = "A"
model = "/models/q.gguf"
command = "/opt/b1/llama-server -m {model} --lora=/x/l.gguf -hf org/m {spec} --port {port}"
mtp = 1
extra_body = {a = 1, b = 2}
[arm.sampling]
temperature = 0.5
`

func base(t *testing.T) (config.Study, bench.PlannedCell) {
	return study(t, keyStudy), bench.PlannedCell{
		Cell: bench.Cell{Arm: "A", Task: "ledger", Seed: 1, Repeat: 1}, Variant: bench.VariantSeeded,
		TaskDigest: "d", FixtureVersion: "v0", FixtureDigest: "f",
	}
}

// Each case changes one thing; it says whether that is another cell.
func TestKeyFollowsWhatDecidesTheWork(t *testing.T) {
	float := func(v float64) *float64 { return &v }
	integer := func(v int64) *int64 { return &v }
	two := 2
	type input struct {
		s        *config.Study
		a        *config.Arm
		c        *bench.PlannedCell
		scaffold *string
	}
	for name, tc := range map[string]struct {
		change func(input)
		other  bool
	}{
		"nothing":             {func(input) {}, false},
		"name":                {func(i input) { i.a.Name = "B" }, true},
		"model":               {func(i input) { i.a.Model = "/models/r.gguf" }, true},
		"flag":                {func(i input) { i.a.Command += " -fa on" }, true},
		"org of a repository": {func(i input) { i.a.Command = strings.Replace(i.a.Command, "org/m", "other/m", 1) }, true},
		"mtp":                 {func(i input) { i.a.MTP = &two }, true},
		"mtp unknown":         {func(i input) { i.a.MTP = nil }, true},
		"parallel":            {func(i input) { i.a.Parallel = 2 }, true},
		"rig":                 {func(i input) { i.a.Rig = "west" }, true},
		"temperature":         {func(i input) { i.a.Sampling.Temperature = float(0) }, true},
		"temperature unset":   {func(i input) { i.a.Sampling.Temperature = nil }, true},
		"top_p":               {func(i input) { i.a.Sampling.TopP = float(0) }, true},
		"top_k":               {func(i input) { i.a.Sampling.TopK = integer(0) }, true},
		"min_p":               {func(i input) { i.a.Sampling.MinP = float(0) }, true},
		"repeat_penalty":      {func(i input) { i.a.Sampling.RepeatPenalty = float(1) }, true},
		"presence_penalty":    {func(i input) { i.a.Sampling.PresencePenalty = float(0) }, true},
		"extra_body":          {func(i input) { i.a.ExtraBody = map[string]json.RawMessage{"a": json.RawMessage("1")} }, true},
		"replay":              {func(i input) { i.a.Replay = bench.ReplayStrip }, true},
		"task":                {func(i input) { i.c.Task = "x" }, true},
		"task digest":         {func(i input) { i.c.TaskDigest = "x" }, true},
		"variant":             {func(i input) { i.c.Variant = bench.VariantFixed }, true},
		"seed":                {func(i input) { i.c.Seed = 2 }, true},
		"repeat":              {func(i input) { i.c.Repeat = 2 }, true},
		"scaffold":            {func(i input) { *i.scaffold = "x" }, true},
		"reminder":            {func(i input) { i.s.Reminder = false }, true},
		"max_output_tokens":   {func(i input) { i.s.Limits.MaxOutputTokens++ }, true},
		"max_sequence_tokens": {func(i input) { i.s.Limits.MaxSequenceTokens++ }, true},
		"max_turns":           {func(i input) { i.s.Limits.MaxTurns++ }, true},
		"max_seconds":         {func(i input) { i.s.AutoSeconds = false }, true},
		"arm without command": {func(i input) { i.a.Command = "" }, true},
		"command_seconds":     {func(i input) { i.s.Limits.CommandTime += time.Second }, true},
		"tool_output_bytes":   {func(i input) { i.s.Limits.ToolOutputBytes++ }, true},
		"idle_seconds":        {func(i input) { i.s.Limits.IdleTime += time.Second }, true},
		"max_malformed_calls": {func(i input) { i.s.Limits.MaxMalformedCalls++ }, true},

		"invalid_retries":    {func(i input) { i.s.Limits.InvalidRetries++ }, false},
		"auto once it's set": {func(i input) { i.s.Limits.MaxTime = time.Minute }, false},
		"url":                {func(i input) { i.a.URL = "http://elsewhere" }, false},
		"key_env":            {func(i input) { i.a.KeyEnv = "OTHER" }, false},
		"folder of build":    {func(i input) { i.a.Command = strings.Replace(i.a.Command, "/opt/b1/", "/opt/b2/", 1) }, false},
		"folder of adapter":  {func(i input) { i.a.Command = strings.Replace(i.a.Command, "/x/", "/y/", 1) }, false},
		"folder of model":    {func(i input) { i.a.Model = "q.gguf" }, false},
		"expect":             {func(i input) { i.a.Expect.Slots = integer(2) }, false},
		"line":               {func(i input) { i.a.Line = 99 }, false},
		"fixture":            {func(i input) { i.c.FixtureVersion, i.c.FixtureDigest = "v9", "x" }, false},
		"study's name":       {func(i input) { i.s.Name = "x" }, false},
		"order":              {func(i input) { i.s.Order = config.OrderBlocked }, false},
		"sandbox":            {func(i input) { i.s.Sandbox = "docker" }, false},
	} {
		s, c := base(t)
		before, err := cellKey(s, s.Arms[0], "scaffold", c)
		if err != nil {
			t.Fatal(err)
		}
		scaffold, arm := "scaffold", s.Arms[0]
		tc.change(input{&s, &arm, &c, &scaffold})
		after, err := cellKey(s, arm, scaffold, c)
		if err != nil {
			t.Fatal(err)
		}
		if (before != after) != tc.other {
			t.Errorf("%s: another key is %v, want %v", name, before != after, tc.other)
		}
	}
}

// A key that changes by accident throws away everybody's finished work.
func TestKeyIsStable(t *testing.T) {
	s, c := base(t)
	got, err := cellKey(s, s.Arms[0], "scaffold", c)
	if err != nil {
		t.Fatal(err)
	}
	const want = "7e18a5b2ba22a1d9db24efe418b4dc18e393679fed6e5f5af248d6d04b4646b2"
	if got != want {
		t.Errorf("key is %s, want %s; a wanted change raises keyVersion", got, want)
	}
}

func TestWithoutPaths(t *testing.T) {
	got, err := withoutPaths(`~/b/srv -m "/a b/c.gguf" --x=../d/e models/f.gguf org/m '{"k":"/v"}' "#x"`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"srv", "-m", "c.gguf", "--x=e", "f.gguf", "org/m", `{"k":"/v"}`, "#x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Growing a study keeps the keys of the cells it had.
func TestGrowingKeepsKeys(t *testing.T) {
	small := planOf(t, "schema = 1\n[coding]\nseeds = 2\n"+threeArms)
	large := planOf(t, "schema = 1\n[coding]\nseeds = 3\nrepeats = 2\norder = \"interleaved\"\n"+threeArms+"[[arm]]\nname = \"D\"\nurl = \"http://h:4\"\n")
	keys := map[string]bench.Cell{}
	for _, c := range large.Cohort.Cells {
		keys[c.Key] = c.Cell
	}
	for _, c := range small.Cohort.Cells {
		if keys[c.Key] != c.Cell {
			t.Errorf("%v has another key in the larger study", c.Cell)
		}
	}
}
