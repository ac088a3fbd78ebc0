package plan

import (
	"fmt"

	"assay/internal/config"
)

// shape is the size of a study: how many of everything, and its tasks in the
// order in which they are run.
type shape struct {
	arms    int
	tasks   []int
	seeds   int
	repeats int
}

// place is a cell by indexes into the study.
type place struct{ arm, task, seed, repeat int }

// arrange lists every cell of a shape once, in the given order. Repeats stand
// beside each other inside their seed.
func arrange(o config.Order, s shape) ([]place, error) {
	var out []place
	switch o {
	case config.OrderRounds:
		for seed := range s.seeds {
			for i := range s.arms {
				arm := mirrored(i, s.arms, seed)
				for _, task := range s.tasks {
					for repeat := range s.repeats {
						out = append(out, place{arm, task, seed, repeat})
					}
				}
			}
		}
	case config.OrderBlocked:
		for arm := range s.arms {
			for seed := range s.seeds {
				for _, task := range s.tasks {
					for repeat := range s.repeats {
						out = append(out, place{arm, task, seed, repeat})
					}
				}
			}
		}
	case config.OrderInterleaved:
		turn := 0
		for seed := range s.seeds {
			for _, task := range s.tasks {
				for repeat := range s.repeats {
					for i := range s.arms {
						out = append(out, place{mirrored(i, s.arms, turn), task, seed, repeat})
					}
					turn++
				}
			}
		}
	default:
		return nil, fmt.Errorf("plan: unknown order %q", o)
	}
	return out, nil
}

// mirrored is the arm at position i of a pass: every other pass goes backwards,
// so that it begins with the arm that is loaded already.
func mirrored(i, arms, pass int) int {
	if pass%2 == 1 {
		return arms - 1 - i
	}
	return i
}

// LoadsOf returns how many times a model is loaded, changing from one arm to
// the next counted, when cells run in an order.
func (p Plan) LoadsOf(o config.Order) int {
	arms := len(p.Arms)
	if len(p.Cohort.Cells) == 0 {
		return 0
	}
	passes := 1
	perArm := len(p.Cohort.Cells) / arms
	switch o {
	case config.OrderRounds:
		passes = p.seeds()
	case config.OrderInterleaved:
		passes = perArm
	}
	return arms + (passes-1)*(arms-1)
}

// Loads returns how many times a model is loaded when the plan is run as it is.
func (p Plan) Loads() int {
	loads, last := 0, ""
	for _, c := range p.Cohort.Cells {
		if c.Arm != last {
			loads++
		}
		last = c.Arm
	}
	return loads
}

// Cells returns the number of planned cells.
func (p Plan) Cells() int { return len(p.Cohort.Cells) }

func (p Plan) seeds() int {
	seen := map[int]bool{}
	for _, c := range p.Cohort.Cells {
		seen[c.Seed] = true
	}
	return len(seen)
}
