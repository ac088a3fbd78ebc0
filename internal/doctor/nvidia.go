package doctor

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// nvidia asks for columns that every driver knows: one unknown column makes
// nvidia-smi refuse them all.
func (h Host) nvidia(ctx context.Context) Check {
	out, err := h.Command(ctx, "nvidia-smi", "--query-gpu=name,driver_version,memory.total,power.draw", "--format=csv,noheader,nounits")
	said := strings.TrimSpace(string(out))
	switch {
	case errors.Is(err, exec.ErrNotFound):
		if h.onBus(vendorNVIDIA) {
			return warn("an NVIDIA card is there, but no nvidia-smi on PATH", "install the tools of the driver, on Debian: apt-get install nvidia-smi; in a container: start it with --gpus all")
		}
		return na("no NVIDIA card and no nvidia-smi")
	case strings.Contains(said, "No devices were found"):
		if h.onBus(vendorNVIDIA) {
			return fail("an NVIDIA card is there, but its driver does not see it", "see dmesg | grep -i nvrm; restart the machine")
		}
		return na("nvidia-smi sees no card")
	case strings.Contains(said, "version mismatch"):
		return fail("nvidia-smi: "+oneLine(said), "restart the machine, or unload and load the driver: rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia; modprobe nvidia")
	case strings.Contains(said, "is lost"), strings.Contains(said, "Unable to determine the device handle"):
		return fail("nvidia-smi: "+oneLine(said), "restart the machine; if it comes again, look at the card's power and seat (dmesg | grep -i xid)")
	case err != nil:
		return fail(fmt.Sprintf("nvidia-smi failed (%v): %s", cause(err), oneLine(said)), "modprobe nvidia as root; if that fails, install the driver for this kernel again")
	}
	cards, err := parseNVIDIA(said)
	if err != nil {
		return fail(err.Error(), "run nvidia-smi by hand and look at what it prints")
	}
	return cards.check()
}

// oneLine is the first line of what a program said.
func oneLine(said string) string {
	line, _, _ := strings.Cut(said, "\n")
	return strings.TrimSpace(line)
}

// cause is how a program ended, without its command line.
func cause(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit
	}
	return err
}

type nvidiaCards struct {
	kinds   []string // name and memory, one for each card
	driver  string
	unheard int // cards that do not tell their power
}

func parseNVIDIA(out string) (nvidiaCards, error) {
	r := csv.NewReader(strings.NewReader(out))
	r.FieldsPerRecord, r.TrimLeadingSpace = 4, true
	rows, err := r.ReadAll()
	if err != nil || len(rows) == 0 {
		return nvidiaCards{}, fmt.Errorf("nvidia-smi printed something that is not understood: %s", oneLine(out))
	}
	var c nvidiaCards
	for _, row := range rows {
		kind := row[0]
		if mib, err := strconv.ParseUint(row[2], 10, 44); err == nil {
			kind += ", " + size(mib<<20)
		}
		c.kinds, c.driver = append(c.kinds, kind), row[1]
		if _, err := strconv.ParseFloat(row[3], 64); err != nil {
			c.unheard++
		}
	}
	return c, nil
}

func (c nvidiaCards) check() Check {
	found := fmt.Sprintf("%s; driver %s", counted(c.kinds), c.driver)
	if c.unheard > 0 {
		return warn(fmt.Sprintf("%s; %d of %d cards do not tell their power, so energy stays unknown for them", found, c.unheard, len(c.kinds)),
			"nvidia-smi -q -d POWER shows what the card offers; where it is shared (MIG, vGPU), read the power on the machine that owns it")
	}
	return ok(found + "; power, memory, clocks and temperatures by nvidia-smi")
}

// counted joins names, equal ones as "2 x name".
func counted(names []string) string {
	var order []string
	n := map[string]int{}
	for _, name := range names {
		if n[name]++; n[name] == 1 {
			order = append(order, name)
		}
	}
	for i, name := range order {
		order[i] = fmt.Sprintf("%d x %s", n[name], name)
	}
	return strings.Join(order, ", ")
}
