package bwrap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"assay/internal/sandbox"
)

const (
	restriction = "kernel.apparmor_restrict_unprivileged_userns"
	profiles    = "etc/apparmor.d"
	longProfile = 64 << 10 // bytes; no profile that matters is longer
)

func (m Machine) lookAtNamespaces(context.Context) Finding {
	for _, u := range m.forbids() {
		return failed(u)
	}
	if u := m.apparmor(); u != nil {
		return Finding{Warn, u.Problem, u.Cure} // a box that opens all the same is what counts
	}
	found := "allowed"
	if n, known := m.setting("user.max_user_namespaces"); known {
		found += " (user.max_user_namespaces is " + n + ")"
	}
	if file := m.profile(); file != "" && m.restricted() {
		found += "; AppArmor restricts them and has a profile for bwrap: /" + file
	}
	return Finding{OK, found, ""}
}

// refused turns what bwrap said into what stands in its way on this machine and
// how to mend it. Errors with other reasons stay as they are.
func refused(err error, said string) error {
	if u := ThisMachine().explain(said); u != nil {
		u.Problem = fmt.Sprintf("bwrap cannot make a box: %s (%v)", u.Problem, err)
		return u
	}
	return err
}

// unstarted is about a bwrap that the kernel did not start. Root starts it as
// another user, which root of a container may not be allowed to.
func unstarted(err error) error {
	if os.Geteuid() != 0 || !errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("start bwrap: %w", err)
	}
	return &sandbox.UnavailableError{
		Problem: fmt.Sprintf("root may not become an ordinary user here, and boxes must not belong to root (%v)", err),
		Cure:    "run assay as an ordinary user; in a container: give it --cap-add SETUID --cap-add SETGID and more than one uid",
	}
}

// explain finds the reason for which bwrap failed, or nil if it is no matter of
// its version or its rights.
func (m Machine) explain(said string) *sandbox.UnavailableError {
	says := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(said, p) })
	}
	switch {
	case says("Unknown option"):
		return errOld("this bwrap")
	case says("setuid mode"):
		path, _ := m.Program()
		return errSetuid(path)
	case !says("namespace", "setting up uid map", "setting up gid map", "RTM_NEW", "Can't mount proc", "Failed to mount", "make / slave"):
		return nil
	}
	for _, u := range m.forbids() {
		return u
	}
	if u := m.apparmor(); u != nil {
		return u
	}
	if file := m.profile(); file != "" && m.restricted() && says("uid map", "gid map", "RTM_NEW", "ermission denied") {
		return &sandbox.UnavailableError{
			Problem: "AppArmor restricts user namespaces, and its profile /" + file + " is not loaded or is too narrow",
			Cure:    fmt.Sprintf("run as root: apparmor_parser -r /%s\nand if that is not enough: sysctl -w %s=0", file, restriction),
		}
	}
	return m.confined(says("exceeded"))
}

// confined explains a refusal that no setting of the machine accounts for.
func (m Machine) confined(exceeded bool) *sandbox.UnavailableError {
	if kind := m.container(); kind != "" {
		return &sandbox.UnavailableError{
			Problem: "this is inside a container (" + kind + ") that may not make namespaces or mount /proc",
			Cure: "start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined " +
				"(podman: --security-opt unmask=ALL), or give it the engine's socket and use docker boxes",
		}
	}
	if exceeded {
		return &sandbox.UnavailableError{
			Problem: "too many namespaces exist, or this runs inside another sandbox that forbids more",
			Cure:    "run assay outside of other sandboxes; run as root: sysctl -w user.max_user_namespaces=10000",
		}
	}
	if status, _ := m.read("proc/self/status"); strings.Contains(status, "\nSeccomp:\t2") {
		return &sandbox.UnavailableError{
			Problem: "a seccomp filter around this program forbids namespaces",
			Cure:    "run assay outside of other sandboxes; for a systemd service: RestrictNamespaces=no and no SystemCallFilter",
		}
	}
	return &sandbox.UnavailableError{
		Problem: "the kernel refuses namespaces or mounts to ordinary users",
		Cure:    "allow user namespaces: sysctl user.max_user_namespaces=10000, and where it exists kernel.unprivileged_userns_clone=1; dmesg | tail may name what refused them",
	}
}

// forbids are the settings that forbid boxes to everybody without rights.
func (m Machine) forbids() []*sandbox.UnavailableError {
	var all []*sandbox.UnavailableError
	zero := func(name, value string) {
		if v, known := m.setting(name); known && v == "0" {
			all = append(all, &sandbox.UnavailableError{
				Problem: name + " is 0: no box can be made",
				Cure:    fmt.Sprintf("run as root: sysctl -w %[1]s=%[2]s\nand to keep it: echo %[1]s=%[2]s > /etc/sysctl.d/90-assay.conf", name, value),
			})
		}
	}
	for _, kind := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		zero("user.max_"+kind+"_namespaces", "10000")
	}
	zero("kernel.unprivileged_userns_clone", "1")
	if _, err := fs.Stat(m.Root, "proc/self"); err == nil {
		if _, err := fs.Stat(m.Root, "proc/self/ns/user"); err != nil {
			all = append(all, &sandbox.UnavailableError{
				Problem: "the kernel is built without user namespaces",
				Cure:    "boot a kernel with CONFIG_USER_NS=y, or use docker boxes",
			})
		}
	}
	return all
}

func (m Machine) restricted() bool {
	v, known := m.setting(restriction)
	return known && v != "0"
}

// apparmor is Ubuntu's restriction where no profile lets bwrap through.
func (m Machine) apparmor() *sandbox.UnavailableError {
	if !m.restricted() || m.profile() != "" {
		return nil
	}
	program, err := m.Program()
	if err != nil {
		program = "/usr/bin/bwrap"
	}
	return &sandbox.UnavailableError{
		Problem: restriction + " is 1, and no AppArmor profile lets bwrap make namespaces",
		Cure: "run as root, for bwrap alone:\n" +
			"printf 'abi <abi/4.0>,\\nprofile bwrap " + program + " flags=(unconfined) { userns, }\\n' > /etc/apparmor.d/bwrap\n" +
			"apparmor_parser -r /etc/apparmor.d/bwrap\n" +
			"or for every program: sysctl -w " + restriction + "=0",
	}
}

// profile is the AppArmor profile for bwrap, or "". Ubuntu ships one that is
// called bwrap-userns-restrict; others attach to the program's path.
func (m Machine) profile() string {
	entries, _ := fs.ReadDir(m.Root, profiles) // no folder: no profile
	for _, e := range entries {
		file := path.Join(profiles, e.Name())
		info, err := fs.Stat(m.Root, file)
		if err != nil || !info.Mode().IsRegular() || info.Size() > longProfile || m.disabled(e.Name()) {
			continue
		}
		text, _ := m.read(file)
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") && strings.Contains(line, "/bwrap ") && strings.HasSuffix(line, "{") {
				return file
			}
			if strings.HasPrefix(line, "profile bwrap ") {
				return file
			}
		}
	}
	return ""
}

func (m Machine) disabled(name string) bool {
	_, err := fs.Stat(m.Root, path.Join(profiles, "disable", name))
	return err == nil
}

// container is the kind of container that this runs in, or "".
func (m Machine) container() string {
	if kind, known := m.read("run/systemd/container"); known && kind != "" {
		return kind
	}
	for _, mark := range []struct{ file, kind string }{
		{"var/run/secrets/kubernetes.io", "kubernetes"}, {".dockerenv", "docker"}, {"run/.containerenv", "podman"},
	} {
		if _, err := fs.Stat(m.Root, mark.file); err == nil {
			return mark.kind
		}
	}
	return ""
}

// setting is a kernel setting by its dotted name.
func (m Machine) setting(name string) (string, bool) {
	return m.read("proc/sys/" + strings.ReplaceAll(name, ".", "/"))
}

func (m Machine) read(file string) (string, bool) {
	b, err := fs.ReadFile(m.Root, file)
	return strings.TrimSpace(string(b)), err == nil
}
