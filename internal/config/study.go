package config

import (
	"slices"

	"assay/internal/bench"
)

// Order says in which sequence the cells of a study are run.
type Order string

// The orders.
const (
	OrderRounds      Order = "rounds"      // one seed at a time, arms mirrored from round to round
	OrderBlocked     Order = "blocked"     // one arm after the other
	OrderInterleaved Order = "interleaved" // arms take turns at every cell
)

// Orders lists the orders, the default first.
func Orders() []Order { return []Order{OrderRounds, OrderBlocked, OrderInterleaved} }

// Newest is the value of Study.Fixtures that asks for the newest released version.
const Newest = "newest"

// Known is what the rest of the program knows and a study file may name.
type Known struct {
	Tasks []string // names of the built-in tasks; "core" stands for all of them
}

// Study is a study file that has no fault, with every default filled in.
type Study struct {
	Path   string // as it was given to Load
	Name   string
	Text   []byte // the file's bytes
	Digest string // sha256 of Text, hex

	Arms     []Arm    // after mtp lists became one arm per depth; names are unique
	Tasks    []string // unique, at least one
	Seeds    []int    // unique, each from 1
	Repeats  int      // from 1
	Variants bench.Variant
	Fixtures string // Newest, or a version such as "v1.0.0"
	Order    Order

	Limits      bench.Limits
	AutoSeconds bool // max_seconds = "auto": Limits.MaxTime is a stand-in until speed is measured

	Reminder bool // one reminder after a turn without call or submission

	Sandbox  string // "auto", "docker", "bwrap"
	Overlap  bool   // grade while the next attempt runs
	AfterArm bool   // grade when all attempts of an arm are done

	Rigs    []Rig // by name
	Compare Compare

	settings []Setting
}

// Arm is an arm as the study file declares it.
type Arm struct {
	bench.Arm
	MTP      *int   // speculation depth; nil: not declared and not ours to set
	Parallel int    // attempts at a time, from 1
	Rig      string // name in Study.Rigs; empty: the only machine there is
	Expect   Expect
	Line     int // of its [[arm]] in the study file
}

// Expect is what the server of an arm must say of itself. Nil: nothing expected.
type Expect struct {
	Kind           *string // "llama.cpp", "openai", "scripted"
	Build          *string
	Model          *string
	TemplateDigest *string // sha256 of the chat template, hex
	ContextPerSlot *int64  // tokens
	Slots          *int64
}

// Rig is a machine with its cards; arms of one rig never run side by side.
type Rig struct {
	Name      string
	Telemetry string // "auto", "off"
}

// Compare says what the study is meant to show.
type Compare struct {
	Baseline string   // name of an arm
	Margin   *float64 // of a delivered rate, as a fraction; nil: none declared
	Varies   []string // dimensions that are the question, e.g. "engine"
}

// Setting is one value that is in force, with where it came from.
type Setting struct {
	Key    string // dotted path in the study file; arms by name: "arm.Q4.model"
	Value  string
	Origin string // "study.toml:7", "default", "inherited from [server], study.toml:3"
}

// Explain lists every setting in force, defaults included, in the order of the
// documentation, arms last.
func (s Study) Explain() []Setting { return slices.Clone(s.settings) }
