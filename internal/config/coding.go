package config

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"assay/internal/bench"
)

const (
	maxSeeds   = 10_000
	maxRepeats = 1_000
	core       = "core" // all built-in tasks
)

func (l *loader) coding(s *Study, c section) {
	s.Tasks = l.tasks(c)
	s.Seeds = l.seeds(c)
	repeats, _ := c.integer("repeats", 1, maxRepeats, 1)
	s.Repeats = int(repeats)
	variants, _ := c.choice("variants", string(bench.VariantSeeded), string(bench.VariantFixed))
	s.Variants = bench.Variant(variants)
	s.Fixtures = l.fixtures(c)
	var orders []string
	for _, o := range Orders() {
		orders = append(orders, string(o))
	}
	order, _ := c.choice("order", orders...)
	s.Order = Order(order)
}

func (l *loader) tasks(c section) []string {
	all := slices.Clone(l.known.Tasks)
	shown := fmt.Sprintf("%s (%s)", core, strings.Join(all, ", "))
	n := c.get("tasks")
	switch {
	case n == nil:
		if len(all) == 0 {
			l.fault(c.line, c.label, "tasks", "there is no built-in task; name tasks")
		}
		c.setting("tasks", shown, byDefault)
		return all
	case n.kind == kindString && n.str == core:
		if len(all) == 0 {
			c.faultAt(n, "tasks", "there is no built-in task")
		}
		c.setting("tasks", shown, l.at(n))
		return all
	case n.kind != kindList:
		c.wrongType("tasks", n, `"core" or a list of task names`)
		return all
	case len(n.items) == 0:
		c.faultAt(n, "tasks", `is an empty list; leave the key out for all tasks`)
		return all
	}
	first := map[string]int{}
	var tasks []string
	for _, item := range n.items {
		name := item.str
		switch line, twice := first[name]; {
		case item.kind != kindString:
			c.wrongType("tasks", item, "a list of task names")
		case twice:
			c.faultAt(item, "tasks", fmt.Sprintf("task %s is listed twice, first on line %d", clip(name), line))
		case !slices.Contains(all, name):
			c.faultAt(item, "tasks", l.unknownTask(name))
			first[name] = item.line
		default:
			first[name] = item.line
			tasks = append(tasks, name)
		}
	}
	c.setting("tasks", strings.Join(tasks, ", "), l.at(n))
	return tasks
}

func (l *loader) unknownTask(name string) string {
	message := "unknown task " + clip(name)
	if near := nearest(name, l.known.Tasks); near != "" {
		return message + "; did you mean " + near + "?"
	}
	if len(l.known.Tasks) == 0 {
		return message
	}
	return message + "; known are " + strings.Join(l.known.Tasks, ", ")
}

// seeds reads a list, or a count n that stands for 1 to n.
func (l *loader) seeds(c section) []int {
	def := []int{1, 2, 3}
	n := c.get("seeds")
	switch {
	case n == nil:
		c.setting("seeds", joinInts(def), byDefault)
		return def
	case n.kind == kindInt:
		if !c.whole("seeds", n, 1, maxSeeds) {
			return def
		}
		seeds := make([]int, n.num)
		for i := range seeds {
			seeds[i] = i + 1
		}
		c.setting("seeds", fmt.Sprintf("1 to %d", n.num), l.at(n))
		return seeds
	case n.kind != kindList:
		c.wrongType("seeds", n, "a list of whole numbers, or how many")
		return def
	case len(n.items) == 0:
		c.faultAt(n, "seeds", "is an empty list; leave the key out for seeds 1, 2, 3")
		return def
	case len(n.items) > maxSeeds:
		c.faultAt(n, "seeds", fmt.Sprintf("must have at most %d seeds, has %d", maxSeeds, len(n.items)))
		return def
	}
	first := map[int64]int{}
	var seeds []int
	for _, item := range n.items {
		if !c.whole("seeds", item, 1, math.MaxInt32) {
			continue
		}
		if line, twice := first[item.num]; twice {
			c.faultAt(item, "seeds", fmt.Sprintf("seed %d is listed twice, first on line %d", item.num, line))
			continue
		}
		first[item.num] = item.line
		seeds = append(seeds, int(item.num))
	}
	c.setting("seeds", joinInts(seeds), l.at(n))
	return seeds
}

func (l *loader) fixtures(c section) string {
	version, n := c.optionalString("fixtures")
	if n == nil {
		c.setting("fixtures", Newest, byDefault)
		return Newest
	}
	if version != Newest && !regexp.MustCompile(`^v\d{1,4}(\.\d{1,4}){0,2}$`).MatchString(version) {
		c.faultAt(n, "fixtures", fmt.Sprintf("must be %q or a version such as \"v1.0.0\", is %s", Newest, clip(version)))
		return Newest
	}
	c.setting("fixtures", version, l.at(n))
	return version
}

func joinInts(ns []int) string {
	parts := make([]string, len(ns))
	for i, n := range ns {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, ", ")
}
