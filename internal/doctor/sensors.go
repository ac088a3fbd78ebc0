package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// cpuEnergy looks for the processor's own energy counter.
func (h Host) cpuEnergy(context.Context) Check {
	const path = "sys/class/powercap/intel-rapl:0/energy_uj"
	b, err := fs.ReadFile(h.Root, path)
	switch {
	case forbidden(err):
		return warn("/"+path+" may be read by root only (its fine readings can leak secrets of other programs)",
			"as root, until the next start: chmod a+r /"+path)
	case err != nil:
		return na("no energy counter of the processor (a virtual machine, or the kernel's powercap driver is not loaded)")
	}
	if _, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64); err != nil {
		return na("/" + path + " holds no number")
	}
	packages := slices.DeleteFunc(h.paths("sys/class/powercap/intel-rapl:*"), func(p string) bool {
		return strings.Count(p, ":") != 1 // parts of a package
	})
	return ok(fmt.Sprintf("RAPL, %d package(s)", len(packages)))
}

// temperatures looks for the processor's sensors.
func (h Host) temperatures(context.Context) Check {
	var found []string
	for _, dir := range h.paths("sys/class/hwmon/hwmon*") {
		name, _ := h.text(dir + "/name")
		if !slices.Contains([]string{"k10temp", "coretemp", "zenpower"}, name) {
			continue
		}
		if t, known := h.celsius(dir + "/temp1_input"); known {
			label, _ := h.text(dir + "/temp1_label")
			found = append(found, strings.Join(strings.Fields(name+" "+label+" "+t), " "))
		}
	}
	if len(found) == 0 {
		for _, dir := range h.paths("sys/class/thermal/thermal_zone*") {
			kind, _ := h.text(dir + "/type")
			if t, known := h.celsius(dir + "/temp"); known && kind == "x86_pkg_temp" {
				found = append(found, kind+" "+t)
			}
		}
	}
	if len(found) == 0 {
		return na("no temperature sensor of the processor (a virtual machine, or no driver: k10temp, coretemp)")
	}
	return ok(strings.Join(found, ", "))
}

// celsius reads thousandths of a degree.
func (h Host) celsius(path string) (string, bool) {
	text, _ := h.text(path)
	milli, err := strconv.ParseInt(text, 10, 32)
	return fmt.Sprintf("%.0f °C", float64(milli)/1000), err == nil
}
