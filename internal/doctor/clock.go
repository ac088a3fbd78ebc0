package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// skewLimit is how far the engine's clock may be off before the times in its
// logs and labels mislead. assay itself never compares two clocks.
const skewLimit = 2 * time.Second

// fastSources are clocks that a process reads without asking the kernel.
var fastSources = []string{"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "xen", "arch_sys_counter", "riscv_clocksource", "timebase"}

// Sync is what the kernel says of its wall clock.
type Sync struct {
	Synchronised bool
	Offset       time.Duration // the largest error that the kernel reckons with
}

func synchronised() (Sync, error) {
	var t unix.Timex // no mode is set: nothing is changed
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return Sync{}, fmt.Errorf("adjtimex: %w", err)
	}
	const timeError = 5
	return Sync{Synchronised: state != timeError && t.Status&unix.STA_UNSYNC == 0, Offset: time.Duration(t.Maxerror) * time.Microsecond}, nil
}

func (h Host) clockSource(context.Context) Check {
	const dir = "sys/devices/system/clocksource/clocksource0/"
	source, found := h.text(dir + "current_clocksource")
	if !found || source == "" {
		return na("the kernel does not say which clock it uses")
	}
	if slices.Contains(fastSources, source) {
		return ok(source)
	}
	available, _ := h.text(dir + "available_clocksource")
	for _, fast := range fastSources {
		if slices.Contains(strings.Fields(available), fast) {
			return warn(source+" is slow to read; with many streams token times get coarse",
				fmt.Sprintf("as root: echo %s > /%scurrent_clocksource", fast, dir))
		}
	}
	return warn(source+" is slow to read; with many streams token times get coarse; the kernel offers no better one (it has: "+available+")",
		"see dmesg | grep -i clocksource for why; on a virtual machine let the host offer kvm-clock or an invariant tsc")
}

// plausible is a time that has certainly passed.
var plausible = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

func (h Host) wallClock(context.Context) Check {
	now := h.Now().UTC()
	const cure = "as root: timedatectl set-ntp true (or install chrony); by hand: date -u -s 'YYYY-MM-DD hh:mm:ss'"
	earliest, why := plausible, "that is past"
	if h.Built.After(earliest) {
		earliest, why = h.Built.UTC(), "when this program was made"
	}
	stamp := now.Format(time.RFC3339)
	if now.Before(earliest) {
		return fail(fmt.Sprintf("%s is before %s, %s; certificates and every time in the record would be wrong", stamp, earliest.Format(time.RFC3339), why), cure)
	}
	s, err := h.Sync()
	if err != nil {
		return ok(fmt.Sprintf("%s; whether it is synchronised cannot be told (%v)", stamp, err))
	}
	if !s.Synchronised {
		return warn(stamp+", not synchronised; times in the record may be off, durations are not",
			"as root: timedatectl set-ntp true, or install chrony; in a virtual machine or container: on its host")
	}
	return ok(fmt.Sprintf("%s, synchronised to within %s", stamp, s.Offset.Round(time.Millisecond)))
}

func (h Host) engineClock(ctx context.Context) Check {
	e, c, known := h.known(ctx)
	if !known {
		return c
	}
	off := e.Skew.Abs().Round(time.Millisecond)
	if off > skewLimit {
		way := "ahead"
		if e.Skew < 0 {
			way = "behind"
		}
		return warn(fmt.Sprintf("the docker engine's clock is %s %s of ours; ages of boxes and times in logs mislead", off, way),
			"synchronise both machines: timedatectl set-ntp true; for Docker Desktop restart its machine")
	}
	return ok(fmt.Sprintf("the docker engine's clock is within %s of ours", max(off, time.Millisecond)))
}
