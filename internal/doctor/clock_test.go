package doctor

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestClockSource(t *testing.T) {
	t.Parallel()
	const dir = "sys/devices/system/clocksource/clocksource0/"
	for name, test := range map[string]struct {
		current, available string
		state              State
		found, cure        string
	}{
		"tsc":          {"tsc\n", "tsc hpet acpi_pm \n", OK, "tsc", ""},
		"kvm":          {"kvm-clock\n", "kvm-clock \n", OK, "kvm-clock", ""},
		"arm":          {"arch_sys_counter\n", "arch_sys_counter \n", OK, "arch_sys_counter", ""},
		"could be tsc": {"hpet\n", "tsc hpet acpi_pm \n", Warn, "hpet is slow", "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"},
		"no other":     {"acpi_pm\n", "hpet acpi_pm \n", Warn, "it has: hpet acpi_pm", "dmesg"},
		"empty":        {"\n", "", NA, "does not say", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := Host{Root: tree(map[string]string{dir + "current_clocksource": test.current, dir + "available_clocksource": test.available})}
			like(t, h.clockSource(t.Context()), test.state, test.found, test.cure)
		})
	}
	like(t, Host{Root: tree(nil)}.clockSource(t.Context()), NA, "does not say", "")
}

func TestWallClock(t *testing.T) {
	t.Parallel()
	day := func(y int, m time.Month) time.Time { return time.Date(y, m, 2, 3, 4, 5, 0, time.FixedZone("", 3600)) }
	synced := Sync{Synchronised: true, Offset: 1234 * time.Microsecond}
	for name, test := range map[string]struct {
		now, built  time.Time
		sync        Sync
		err         error
		state       State
		found, cure string
	}{
		"good":                {day(2026, 9), day(2026, 8), synced, nil, OK, "2026-09-02T02:04:05Z, synchronised to within 1ms", ""},
		"before this program": {day(2026, 7), day(2026, 8), synced, nil, Fail, "before 2026-08-02T02:04:05Z, when this program was made", "timedatectl"},
		"battery is empty":    {day(1970, 1), time.Time{}, synced, nil, Fail, "before 2026-01-01", "timedatectl"},
		"an old build":        {day(2026, 2), day(2020, 1), synced, nil, OK, "2026-02", ""},
		"alone":               {day(2026, 9), time.Time{}, Sync{}, nil, Warn, "not synchronised", "chrony"},
		"not to be known":     {day(2026, 9), time.Time{}, Sync{}, errors.New("adjtimex: no"), OK, "cannot be told (adjtimex: no)", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := Host{Now: func() time.Time { return test.now }, Built: test.built, Sync: func() (Sync, error) { return test.sync, test.err }}
			like(t, h.wallClock(t.Context()), test.state, test.found, test.cure)
		})
	}
}

func TestEngineClock(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		skew        time.Duration
		state       State
		found, cure string
	}{
		"same":          {0, OK, "within 1ms", ""},
		"at the limit":  {-skewLimit, OK, "within 2s", ""},
		"it is ahead":   {2001 * time.Millisecond, Warn, "2.001s ahead", "timedatectl"},
		"it is behind":  {-time.Hour, Warn, "1h0m0s behind", "timedatectl"},
		"a bit unequal": {-1500 * time.Microsecond, OK, "within 2ms", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := Host{Engine: func(context.Context) (Engine, error) { return Engine{Skew: test.skew}, nil }}
			like(t, h.engineClock(t.Context()), test.state, test.found, test.cure)
		})
	}
}
