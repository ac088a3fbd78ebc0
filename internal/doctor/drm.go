package doctor

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Vendors as the PCI bus numbers them.
const (
	vendorAMD    = "0x1002"
	vendorIntel  = "0x8086"
	vendorNVIDIA = "0x10de"
)

// onBus says that a vendor's card is plugged in, with a driver or without.
func (h Host) onBus(vendor string) bool {
	return slices.ContainsFunc(h.paths("sys/bus/pci/devices/*/vendor"), func(p string) bool {
		v, _ := h.text(p)
		class, _ := h.text(path.Dir(p) + "/class")
		return v == vendor && (strings.HasPrefix(class, "0x03") || strings.HasPrefix(class, "0x12")) // display; accelerator
	})
}

// card is a graphics card of the kernel's list.
type card struct {
	name   string // "card0"
	device string // its folder in sysfs
	hwmon  string // folder of its sensors; empty: none
	driver string // as the sensors call themselves
}

// cards are those of one vendor. Entries such as card0-HDMI-A-1 are outputs.
func (h Host) cards(vendor string) []card {
	var all []card
	for _, dir := range h.paths("sys/class/drm/card*") {
		name := path.Base(dir)
		if _, err := strconv.Atoi(strings.TrimPrefix(name, "card")); err != nil {
			continue
		}
		c := card{name: name, device: dir + "/device"}
		if v, _ := h.text(c.device + "/vendor"); v != vendor {
			continue
		}
		if sensors := h.paths(c.device + "/hwmon/hwmon*"); len(sensors) > 0 {
			c.hwmon = sensors[0]
			c.driver, _ = h.text(c.hwmon + "/name")
		}
		all = append(all, c)
	}
	return all
}

func (h Host) number(path string) (uint64, bool) {
	s, found := h.text(path)
	if !found {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil
}

func (h Host) amd(ctx context.Context) Check {
	cards := h.cards(vendorAMD)
	if len(cards) == 0 {
		return h.amdWithoutCards(ctx)
	}
	var names, mute []string
	for _, c := range cards {
		name := c.name
		if vram, known := h.number(c.device + "/mem_info_vram_total"); known {
			name += ", " + size(vram)
		}
		_, average := h.number(c.hwmon + "/power1_average")
		_, instant := h.number(c.hwmon + "/power1_input")
		if !average && !instant {
			mute = append(mute, c.name)
		}
		names = append(names, name)
	}
	found := strings.Join(names, "; ")
	if len(mute) > 0 {
		driver := cmp.Or(cards[0].driver, "none")
		return warn(fmt.Sprintf("%s; no power reading from %s (sensors: %s)", found, strings.Join(mute, ", "), driver),
			"use the kernel driver amdgpu (modprobe amdgpu) and a kernel that knows the card; a sleeping card answers once it works")
	}
	return ok(found + "; power, memory, clocks and temperatures from /sys")
}

// amdWithoutCards tells no card from one that only ROCm's own tool sees.
func (h Host) amdWithoutCards(ctx context.Context) Check {
	out, err := h.Command(ctx, "rocm-smi", "--showproductname")
	switch {
	case err == nil && bytes.Contains(out, []byte("GPU[")):
		return warn("rocm-smi sees a card, and /sys/class/drm does not; rocm-smi is too slow to follow power", "in a container: mount the machine's /sys read-only (-v /sys:/sys:ro)")
	case h.onBus(vendorAMD):
		return warn("an AMD card is there without a driver", "modprobe amdgpu as root")
	}
	return na("no AMD card")
}

func (h Host) intel(context.Context) Check {
	cards := h.cards(vendorIntel)
	if len(cards) == 0 {
		return na("no Intel card")
	}
	var names []string
	for _, c := range cards {
		if _, counts := h.number(c.hwmon + "/energy1_input"); counts && (c.driver == "xe" || c.driver == "i915") {
			names = append(names, fmt.Sprintf("%s (%s)", c.name, c.driver))
		}
	}
	if len(names) > 0 {
		return ok(strings.Join(names, "; ") + "; energy from /sys")
	}
	return na("an Intel card without an energy counter: part of the processor, or its kernel is too old to offer one")
}
