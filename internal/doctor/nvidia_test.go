package doctor

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// program answers for one program; others are not there.
func answers(name, out string, err error) func(context.Context, string, ...string) ([]byte, error) {
	return func(_ context.Context, asked string, _ ...string) ([]byte, error) {
		if asked != name {
			return nil, fmt.Errorf("run %s: %w", asked, exec.ErrNotFound)
		}
		return []byte(out), err
	}
}

func TestNVIDIA(t *testing.T) {
	t.Parallel()
	failed := errors.New("exit status 9")
	onBus := map[string]string{"sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n", "sys/bus/pci/devices/0000:01:00.0/class": "0x030200\n"}
	audio := map[string]string{"sys/bus/pci/devices/0000:01:00.1/vendor": "0x10de\n", "sys/bus/pci/devices/0000:01:00.1/class": "0x040300\n"}
	for name, test := range map[string]struct {
		files       map[string]string
		out         string
		err         error
		state       State
		found, cure string
	}{
		"one card": {out: "NVIDIA GeForce RTX 4090, 570.86.15, 24564, 31.52\n", state: OK,
			found: "1 x NVIDIA GeForce RTX 4090, 24.0 GiB; driver 570.86.15; power"},
		"several cards": {out: "NVIDIA H200, 550.54, 143771, 75.1\nNVIDIA H200, 550.54, 143771, 76.0\nNVIDIA L4, 550.54, 23034, 12.9\n", state: OK,
			found: "2 x NVIDIA H200, 140.4 GiB, 1 x NVIDIA L4, 22.5 GiB; driver 550.54"},
		"no power":  {out: "GRID A100X-4C, 550.54, 4096, [N/A]\n", state: Warn, found: "1 of 1 cards do not tell their power", cure: "POWER"},
		"no memory": {out: "NVIDIA GB10, 580.1, [N/A], 5.0\n", state: OK, found: "1 x NVIDIA GB10; driver"},
		"driver not loaded": {out: "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\nMake sure\n", err: failed, state: Fail,
			found: "nvidia-smi failed (exit status 9): NVIDIA-SMI has failed because", cure: "modprobe nvidia"},
		"driver replaced": {out: "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.86\n", err: failed, state: Fail,
			found: "version mismatch", cure: "restart the machine"},
		"card lost":          {out: "Unable to determine the device handle for GPU0000:01:00.0: GPU is lost.\n", err: failed, state: Fail, found: "is lost", cure: "xid"},
		"no card":            {out: "No devices were found\n", err: failed, state: NA, found: "sees no card"},
		"card not seen":      {files: onBus, out: "No devices were found\n", state: Fail, found: "does not see it", cure: "nvrm"},
		"nonsense":           {out: "<html>\n", state: Fail, found: "not understood: <html>", cure: "by hand"},
		"nothing printed":    {out: "", state: Fail, found: "not understood", cure: "by hand"},
		"absent":             {err: exec.ErrNotFound, state: NA, found: "no NVIDIA card and no nvidia-smi"},
		"its sound only":     {files: audio, err: exec.ErrNotFound, state: NA, found: "no NVIDIA card"},
		"card without tools": {files: onBus, err: exec.ErrNotFound, state: Warn, found: "no nvidia-smi on PATH", cure: "apt-get install nvidia-smi"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := Host{Root: tree(test.files), Command: answers("nvidia-smi", test.out, test.err)}
			like(t, h.nvidia(t.Context()), test.state, test.found, test.cure)
		})
	}
}

func FuzzNVIDIA(f *testing.F) {
	f.Add("NVIDIA H200, 550.54, 143771, 75.1\n")
	f.Add("\"a\nb\", c, , [N/A]")
	f.Fuzz(func(t *testing.T, out string) {
		h := Host{Root: tree(nil), Command: answers("nvidia-smi", out, nil)}
		if c := h.nvidia(t.Context()); c.State == OK && !strings.Contains(c.Found, "driver") || c.State == "" {
			t.Errorf("%+v", c)
		}
	})
}
