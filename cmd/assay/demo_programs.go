package main

import (
	"fmt"
	"slices"
	"strings"

	"assay/fixtures"
	"assay/internal/bench"
	"assay/internal/engine/scripted"
	"assay/tasks"
)

const (
	demoTask = "ledger"
	demoTool = "python3 examples/smoke.py"
)

// demoArm is a simulated checkpoint: how fast it is and what it plays for the
// seeds 1, 2 and 3.
type demoArm struct {
	name  string
	speed scripted.Speed
	plays [3]play
}

// play makes the conversation of one attempt.
type play func(d demoAnswers, seed int) []scripted.Turn

// demoArms differ in speed and in how their attempts end, so that a report shows
// every kind of outcome.
func demoArms() []demoArm {
	return []demoArm{
		{"q4", scripted.Speed{PrefillTPS: 1450, DecodeTPS: 33.3}, [3]play{right, right, alternative}},
		{"iq4", scripted.Speed{PrefillTPS: 1500, DecodeTPS: 62.4, DraftDepth: 3, Acceptance: 0.71}, [3]play{alternative, notHandedOver, right}},
		{"iq3", scripted.Speed{PrefillTPS: 1520, DecodeTPS: 59.9, DraftDepth: 2, Acceptance: 0.78}, [3]play{right, subtlyWrong, cutShort}},
	}
}

// demoAnswers are the programs that the simulated models write.
type demoAnswers struct {
	right, alternative, wrong bench.Tree
	workspace                 bench.Tree
}

func demoProfiles() ([]scripted.Profile, error) {
	t, err := tasks.Render(demoTask, bench.VariantFixed, 0)
	if err != nil {
		return nil, err
	}
	version, _ := fixtures.Newest(demoTask)
	f, err := fixtures.Load(version, t)
	if err != nil {
		return nil, err
	}
	if len(f.Controls) == 0 || len(f.Accepted) == 0 {
		return nil, fmt.Errorf("fixture %s of task %s has no control or no accepted answer to play", version, demoTask)
	}
	d := demoAnswers{right: t.Reference, alternative: f.Accepted[0].Tree, wrong: subtlest(f.Controls).Tree, workspace: t.Workspace}
	var profiles []scripted.Profile
	for _, arm := range demoArms() {
		p := scripted.Profile{Model: arm.name, ContextPerSlot: 81920, Slots: 1, Speed: arm.speed}
		for i, make := range arm.plays {
			seed := i + 1
			p.Programs = append(p.Programs, scripted.Program{
				Name:  fmt.Sprintf("%s-seed-%d", arm.name, seed),
				Task:  strings.SplitN(t.Instruction, "\n", 2)[0],
				Seeds: []int64{bench.SamplerSeed(seed, 1)},
				Turns: make(d, seed),
			})
		}
		profiles = append(profiles, p)
	}
	return profiles, nil
}

// subtlest is the control that fails the fewest checks.
func subtlest(controls []bench.Control) bench.Control {
	return slices.MinFunc(controls, func(a, b bench.Control) int { return len(a.Fails) - len(b.Fails) })
}

// writes are the calls that write the files of an answer that differ from the
// workspace.
func writes(answer, workspace bench.Tree) []scripted.Call {
	var calls []scripted.Call
	for _, f := range answer {
		if was, ok := workspace.Get(f.Path); ok && string(was.Data) == string(f.Data) {
			continue
		}
		calls = append(calls, scripted.WriteFile(f.Path, string(f.Data)))
	}
	return calls
}

// read is how every demo attempt begins.
func read(seed int) []scripted.Turn {
	return []scripted.Turn{
		{
			Reasoning:       "Three modules to write. First look at what is there.",
			ReasoningTokens: 180 + 40*seed,
			Calls:           []scripted.Call{scripted.ListFiles(), scripted.ReadFile("ledger.py"), scripted.ReadFile("money.py"), scripted.ReadFile("book.py")},
		},
		{
			Reasoning:       "The smoke script shows how it will be called.",
			ReasoningTokens: 320 + 25*seed,
			Calls:           []scripted.Call{scripted.ReadFile("examples/smoke.py"), scripted.ReadFile("examples/shop.csv")},
		},
	}
}

// write puts an answer's files down and tries them.
func write(answer bench.Tree, d demoAnswers, seed int) []scripted.Turn {
	return []scripted.Turn{
		{
			Reasoning:       "Amounts stay whole numbers of hundredths. Nothing may be printed before every file was read.",
			ReasoningTokens: 5200 + 310*seed,
			Calls:           writes(answer, d.workspace),
		},
		{
			Reasoning:       "Now the examples.",
			ReasoningTokens: 90,
			Calls:           []scripted.Call{scripted.Run(demoTool)},
		},
	}
}

func solved(answer bench.Tree, d demoAnswers, seed int) []scripted.Turn {
	turns := append(read(seed), write(answer, d, seed)...)
	return append(turns, scripted.Turn{
		Text:  "The examples pass, and the faults of clause 12 end with exit code 2.",
		Calls: []scripted.Call{scripted.Submit()},
	})
}

func right(d demoAnswers, seed int) []scripted.Turn       { return solved(d.right, d, seed) }
func alternative(d demoAnswers, seed int) []scripted.Turn { return solved(d.alternative, d, seed) }
func subtlyWrong(d demoAnswers, seed int) []scripted.Turn { return solved(d.wrong, d, seed) }

// notHandedOver solves the task and then runs the examples again and again.
func notHandedOver(d demoAnswers, seed int) []scripted.Turn {
	turns := append(read(seed), write(d.right, d, seed)...)
	again := scripted.Turn{
		Reasoning:       "Let me make sure once more.",
		ReasoningTokens: 150,
		Calls:           []scripted.Call{scripted.Run(demoTool)},
	}
	return append(turns, slices.Repeat([]scripted.Turn{again}, 12)...)
}

// cutShort thinks until the output limit and writes nothing.
func cutShort(_ demoAnswers, seed int) []scripted.Turn {
	return append(read(seed), scripted.Turn{
		Reasoning: "What if an account has an empty part? Wait, clause 3 says so. But then the order of clause 8 … Let me think again.",
		Text:      "So the plan is:",
		Finish:    scripted.FinishLength,
	})
}
