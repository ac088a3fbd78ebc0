package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/internal/bench"
)

const maxVaries = 32

func (l *loader) agent(s *Study, c section) bench.Replay {
	replay, _ := c.choice("replay_reasoning", string(bench.ReplayAsSent), string(bench.ReplayStrip))
	s.Reminder, _ = c.boolean("reminder", true)
	return bench.Replay(replay)
}

// grading reads when and where work is judged. after_arm waits for the end of
// an arm, so it takes the place of overlap.
func (l *loader) grading(s *Study, c section) {
	s.Sandbox, _ = c.choice("sandbox", "auto", "docker", "bwrap")
	var after *node
	overlap := c.get("overlap")
	mark := len(l.settings)
	s.AfterArm, after = c.boolean("after_arm", false)
	late := slices.Clone(l.settings[mark:])
	l.settings = l.settings[:mark]
	if s.AfterArm && overlap == nil {
		s.Overlap = false
		c.setting("overlap", "false", "follows from after_arm, "+l.at(after))
	} else {
		s.Overlap, overlap = c.boolean("overlap", true)
	}
	if s.AfterArm && s.Overlap && overlap != nil {
		c.faultAt(after, "after_arm", fmt.Sprintf("contradicts overlap = true on line %d", overlap.line))
	}
	l.settings = append(l.settings, late...)
}

func (l *loader) rigs(s *Study, top section) {
	n := top.get("rig")
	if n == nil {
		return
	}
	if n.kind != kindTable {
		top.wrongType("rig", n, "tables, written [rig.NAME]")
		return
	}
	for _, name := range n.keys {
		rig := n.table[name]
		if rig.kind != kindTable {
			l.fault(rig.line, "[rig]", printable(name), "must be a table, written [rig.NAME], is "+describe(rig))
			continue
		}
		if why := badName(name); why != "" {
			l.fault(rig.line, "[rig.NAME]", "", "the name "+why)
			continue
		}
		c := section{l: l, n: rig, label: "[rig." + printable(name) + "]", prefix: "rig." + name + ".", line: rig.line}
		c.known()
		telemetry, _ := c.choice("telemetry", "auto", "off")
		s.Rigs = append(s.Rigs, Rig{Name: name, Telemetry: telemetry})
	}
	slices.SortFunc(s.Rigs, func(a, b Rig) int { return strings.Compare(a.Name, b.Name) })
}

func (l *loader) compare(s *Study, c section) {
	names := make([]string, len(s.Arms))
	for i, a := range s.Arms {
		names[i] = a.Name
	}
	baseline, n := c.optionalString("baseline")
	switch {
	case n != nil && !slices.Contains(names, baseline):
		message := "there is no arm " + clip(baseline)
		if near := nearest(baseline, names); near != "" {
			message += "; did you mean " + near + "?"
		}
		c.faultAt(n, "baseline", message)
	case n != nil:
		c.setting("baseline", baseline, l.at(n))
	case len(names) > 0:
		baseline = names[0]
		c.setting("baseline", baseline, "default: first arm")
	}
	s.Compare.Baseline = baseline
	s.Compare.Margin = l.margin(c)
	s.Compare.Varies = l.varies(c)
}

func (l *loader) margin(c section) *float64 {
	n := c.get("margin")
	switch {
	case n == nil:
		c.setting("margin", "none", byDefault)
	case !c.number("margin", n, 0, 1):
	case n.float == 0 || n.float == 1:
		c.faultAt(n, "margin", "must be between 0 and 1 (0.15 is 15 points of a rate), is "+cut(n.raw))
	default:
		v := n.float
		c.setting("margin", strconv.FormatFloat(v, 'g', -1, 64), l.at(n))
		return &v
	}
	return nil
}

func (l *loader) varies(c section) []string {
	n := c.get("varies")
	if n == nil {
		c.setting("varies", "nothing", byDefault)
		return nil
	}
	if n.kind != kindList {
		c.wrongType("varies", n, "a list of dimensions")
		return nil
	}
	if len(n.items) > maxVaries {
		c.faultAt(n, "varies", fmt.Sprintf("must have at most %d dimensions, has %d", maxVaries, len(n.items)))
		return nil
	}
	var words []string
	for _, item := range n.items {
		switch {
		case item.kind != kindString:
			c.wrongType("varies", item, "a list of dimensions")
		case badName(item.str) != "":
			c.faultAt(item, "varies", "a dimension "+badName(item.str))
		case slices.Contains(words, item.str):
			c.faultAt(item, "varies", clip(item.str)+" is listed twice")
		default:
			words = append(words, item.str)
		}
	}
	c.setting("varies", strings.Join(words, ", "), l.at(n))
	return words
}
