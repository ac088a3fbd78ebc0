// Package doctor looks at a machine and says what of it assay can use, what it
// cannot, and what mends that. It reads and asks; it changes nothing.
//
// Checks run side by side, each under its own deadline, so that one thing that
// hangs (a dead mount, a driver) neither stops the others nor the program.
package doctor

import (
	"context"
	"time"
)

// State is what a check came to.
type State string

// The states of a check.
const (
	OK   State = "ok"
	Warn State = "warn" // usable, and something will suffer
	Fail State = "fail"
	NA   State = "n/a" // not on this machine, or not to be known
)

// Check is one thing that was looked at. Cure is the command or setting that
// mends it; it is empty where all is well or nothing can be done.
type Check struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	Found string `json:"found"`
	Cure  string `json:"cure"`
}

// Usable says that what was looked at works, if perhaps not well.
func (c Check) Usable() bool { return c.State == OK || c.State == Warn }

// Probe is a check that has not been made yet.
type Probe struct {
	Name    string
	Timeout time.Duration
	Run     func(context.Context) Check // need not fill in the name
	Stuck   string                      // cure where the deadline passes; empty: a general one
}

func ok(found string) Check         { return Check{State: OK, Found: found} }
func na(found string) Check         { return Check{State: NA, Found: found} }
func warn(found, cure string) Check { return Check{State: Warn, Found: found, Cure: cure} }
func fail(found, cure string) Check { return Check{State: Fail, Found: found, Cure: cure} }
