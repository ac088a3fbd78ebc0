package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

func (h Host) cpu(context.Context) Check {
	found := fmt.Sprintf("%d cores", h.CPUs)
	if h.CPUs == 1 {
		found = "1 core"
	}
	info, _ := h.text("proc/cpuinfo")
	for line := range strings.Lines(info) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == "model name" {
			return ok(found + ", " + strings.TrimSpace(value))
		}
	}
	return ok(found)
}

func (h Host) memory(context.Context) Check {
	info, _ := h.text("proc/meminfo")
	amounts := map[string]uint64{}
	for line := range strings.Lines(info) {
		key, value, _ := strings.Cut(line, ":")
		if kib, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 54); err == nil {
			amounts[key] = kib << 10
		}
	}
	total, known := amounts["MemTotal"]
	if !known {
		return na("/proc/meminfo does not tell")
	}
	found := size(total)
	if available, known := amounts["MemAvailable"]; known {
		found += ", " + size(available) + " of it available"
	}
	return ok(found)
}

// cgroup says by what an engine bounds its containers.
func (h Host) cgroup(context.Context) Check {
	const dir = "sys/fs/cgroup/"
	if controllers, v2 := h.text(dir + "cgroup.controllers"); v2 {
		missing := []string{}
		for _, c := range []string{"cpu", "memory", "pids"} {
			if !strings.Contains(" "+controllers+" ", " "+c+" ") {
				missing = append(missing, c)
			}
		}
		if len(missing) > 0 {
			return warn("version 2 without "+strings.Join(missing, ", ")+": docker boxes cannot be bounded in it",
				"on the machine itself: boot with cgroup_enable=memory; for a user's engine: Delegate=cpu memory pids in user@.service")
		}
		return ok("version 2 (" + controllers + ")")
	}
	if h.exists(dir+"memory") || h.exists(dir+"cpu") || h.exists(dir+"pids") {
		return ok("version 1")
	}
	return na("no cgroups are mounted")
}

// cpuLoad looks for the counters of busy and idle time.
func (h Host) cpuLoad(context.Context) Check {
	stat, found := h.text("proc/stat")
	if !found {
		return na("/proc/stat is not there")
	}
	first, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(first)
	if len(fields) < 5 || fields[0] != "cpu" {
		return na("/proc/stat has no line of all cores")
	}
	for _, f := range fields[1:] {
		if _, err := strconv.ParseUint(f, 10, 64); err != nil {
			return na("/proc/stat has counters that are no numbers")
		}
	}
	return ok("/proc/stat")
}
