package doctor

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"syscall"
	"testing"
)

// merged lays trees over each other.
func merged(all ...map[string]string) map[string]string {
	sum := map[string]string{}
	for _, m := range all {
		maps.Copy(sum, m)
	}
	return sum
}

func TestAMD(t *testing.T) {
	t.Parallel()
	const dev = "sys/class/drm/card1/device/"
	card := map[string]string{
		dev + "vendor": "0x1002\n", dev + "mem_info_vram_total": "25753026560\n", dev + "hwmon/hwmon4/name": "amdgpu\n",
		"sys/class/drm/card1-HDMI-A-1/device/vendor": "0x1002\n", // an output of the card
		"sys/class/drm/card0/device/vendor":          "0x8086\n",
	}
	for name, test := range map[string]struct {
		files       map[string]string
		out         string
		state       State
		found, cure string
	}{
		"average power":  {merged(card, map[string]string{dev + "hwmon/hwmon4/power1_average": "28000000\n"}), "", OK, "card1, 24.0 GiB; power", ""},
		"input power":    {merged(card, map[string]string{dev + "hwmon/hwmon4/power1_input": "28000000\n"}), "", OK, "card1, 24.0 GiB; power", ""},
		"no power":       {card, "", Warn, "no power reading from card1 (sensors: amdgpu)", "modprobe amdgpu"},
		"no sensors":     {map[string]string{dev + "vendor": "0x1002\n"}, "", Warn, "card1; no power reading from card1 (sensors: none)", "modprobe amdgpu"},
		"none":           {nil, "", NA, "no AMD card", ""},
		"rocm only":      {nil, "GPU[0]\t\t: Card Series: \t\tAMD Instinct MI210\n", Warn, "rocm-smi sees a card", "-v /sys:/sys:ro"},
		"rocm sees none": {nil, "WARNING: No AMD GPUs specified\n", NA, "no AMD card", ""},
		"no driver":      {map[string]string{"sys/bus/pci/devices/a/vendor": "0x1002\n", "sys/bus/pci/devices/a/class": "0x120000\n"}, "", Warn, "without a driver", "modprobe amdgpu"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := "rocm-smi"
			if test.out == "" {
				program = "none"
			}
			h := Host{Root: tree(test.files), Command: answers(program, test.out, nil)}
			like(t, h.amd(t.Context()), test.state, test.found, test.cure)
		})
	}
}

func TestSensorsFromSys(t *testing.T) {
	t.Parallel()
	const (
		card = "sys/class/drm/card0/device/"
		rapl = "sys/class/powercap/intel-rapl:0"
		mon  = "sys/class/hwmon/hwmon"
	)
	intel := func(h Host) func(context.Context) Check { return h.intel }
	energy := func(h Host) func(context.Context) Check { return h.cpuEnergy }
	temperatures := func(h Host) func(context.Context) Check { return h.temperatures }
	for name, test := range map[string]struct {
		check       func(Host) func(context.Context) Check
		files       map[string]string
		state       State
		found, cure string
	}{
		"arc":                   {intel, map[string]string{card + "vendor": "0x8086", card + "hwmon/hwmon2/name": "xe", card + "hwmon/hwmon2/energy1_input": "41400"}, OK, "card0 (xe); energy", ""},
		"part of the processor": {intel, map[string]string{card + "vendor": "0x8086"}, NA, "without an energy counter", ""},
		"no intel":              {intel, map[string]string{card + "vendor": "0x1002"}, NA, "no Intel card", ""},

		"rapl":     {energy, map[string]string{rapl + "/energy_uj": "262143300000\n", rapl + ":0/energy_uj": "1", "sys/class/powercap/intel-rapl:1/energy_uj": "1"}, OK, "RAPL, 2 package(s)", ""},
		"odd rapl": {energy, map[string]string{rapl + "/energy_uj": "x"}, NA, "no number", ""},
		"no rapl":  {energy, nil, NA, "virtual machine", ""},

		"ryzen":    {temperatures, map[string]string{mon + "0/name": "nvme", mon + "0/temp1_input": "30000", mon + "1/name": "k10temp", mon + "1/temp1_input": "45250", mon + "1/temp1_label": "Tctl"}, OK, "k10temp Tctl 45 °C", ""},
		"two xeon": {temperatures, map[string]string{mon + "0/name": "coretemp", mon + "0/temp1_input": "51000", mon + "0/temp1_label": "Package id 0", mon + "1/name": "coretemp", mon + "1/temp1_input": "49000", mon + "1/temp1_label": "Package id 1"}, OK, "coretemp Package id 0 51 °C, coretemp Package id 1 49 °C", ""},
		"zone":     {temperatures, map[string]string{"sys/class/thermal/thermal_zone0/type": "acpitz", "sys/class/thermal/thermal_zone0/temp": "20000", "sys/class/thermal/thermal_zone1/type": "x86_pkg_temp", "sys/class/thermal/thermal_zone1/temp": "-1000"}, OK, "x86_pkg_temp -1 °C", ""},
		"none":     {temperatures, map[string]string{mon + "0/name": "k10temp"}, NA, "no temperature sensor", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			like(t, test.check(Host{Root: tree(test.files)})(t.Context()), test.state, test.found, test.cure)
		})
	}
}

func TestSensorsThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	const rapl = "sys/class/powercap/intel-rapl:0/energy_uj"
	forRoot := Host{Root: sealed{tree(map[string]string{rapl: "1"}), rapl, fs.ErrPermission}}
	like(t, forRoot.cpuEnergy(t.Context()), Warn, "root only", "chmod a+r /"+rapl)
	broken := Host{Root: sealed{tree(map[string]string{rapl: "1"}), rapl, syscall.EIO}}
	like(t, broken.cpuEnergy(t.Context()), NA, "no energy counter", "")

	const dev = "sys/class/drm/card0/device/"
	asleep := Host{Root: sealed{tree(map[string]string{dev + "vendor": "0x1002", dev + "hwmon/hwmon0/power1_average": "1"}), dev + "hwmon/hwmon0/power1_average", syscall.EBUSY}}
	asleep.Command = answers("none", "", errors.New("no"))
	like(t, asleep.amd(t.Context()), Warn, "no power reading", "sleeping card")
}

func TestMachine(t *testing.T) {
	t.Parallel()
	cgroup := func(h Host) func(context.Context) Check { return h.cgroup }
	cpu := func(h Host) func(context.Context) Check { return h.cpu }
	memory := func(h Host) func(context.Context) Check { return h.memory }
	load := func(h Host) func(context.Context) Check { return h.cpuLoad }
	for name, test := range map[string]struct {
		check       func(Host) func(context.Context) Check
		files       map[string]string
		state       State
		found, cure string
	}{
		"cgroup 2":           {cgroup, map[string]string{"sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory pids\n"}, OK, "version 2 (cpuset cpu io memory pids)", ""},
		"cgroup 2, bare":     {cgroup, map[string]string{"sys/fs/cgroup/cgroup.controllers": "cpuset io pids\n"}, Warn, "without cpu, memory", "cgroup_enable=memory"},
		"cgroup 1":           {cgroup, map[string]string{"sys/fs/cgroup/memory/tasks": ""}, OK, "version 1", ""},
		"no cgroup":          {cgroup, nil, NA, "no cgroups", ""},
		"cpu":                {cpu, map[string]string{"proc/cpuinfo": "processor\t: 0\nmodel name\t: AMD EPYC: 9\n\nprocessor\t: 1\n"}, OK, "4 cores, AMD EPYC: 9", ""},
		"cpu without name":   {cpu, nil, OK, "4 cores", ""},
		"memory":             {memory, map[string]string{"proc/meminfo": "MemTotal:       16384000 kB\nMemFree: 1 kB\nMemAvailable:    8192000 kB\nHugePages_Total: 0\n"}, OK, "15.6 GiB, 7.8 GiB of it available", ""},
		"memory, old kernel": {memory, map[string]string{"proc/meminfo": "MemTotal: 1024 kB\n"}, OK, "1 MiB", ""},
		"memory unknown":     {memory, map[string]string{"proc/meminfo": "MemTotal: lots\n"}, NA, "does not tell", ""},
		"load":               {load, map[string]string{"proc/stat": "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2\n"}, OK, "/proc/stat", ""},
		"load, not there":    {load, nil, NA, "not there", ""},
		"load, other lines":  {load, map[string]string{"proc/stat": "intr 1 2 3 4 5\n"}, NA, "no line", ""},
		"load, no numbers":   {load, map[string]string{"proc/stat": "cpu  1 2 x 4 5\n"}, NA, "no numbers", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			like(t, test.check(Host{Root: tree(test.files), CPUs: 4})(t.Context()), test.state, test.found, test.cure)
		})
	}
}
