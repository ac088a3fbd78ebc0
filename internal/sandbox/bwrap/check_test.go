package bwrap

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"assay/internal/sandbox"
	"assay/internal/sandbox/boxtest"
	"assay/internal/sandbox/rootfs"
)

// machine is one on which boxes work, with files laid over it.
func machine(files map[string]string) Machine {
	m := fstest.MapFS{}
	for name, text := range map[string]string{
		"proc/self/ns/user": "", "proc/self/status": "Name:\tassay\nSeccomp:\t0\n", "proc/sys/user/max_user_namespaces": "96364\n", "usr/bin/bwrap": "",
	} {
		m[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o755}
	}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return Machine{Root: m, Program: func() (string, error) { return "/usr/bin/bwrap", nil }, Command: nil}
}

// like holds a finding against a state and words of it, and against the rule
// that what is not well has a cure.
func like(t *testing.T, got Finding, state, found, cure string) {
	t.Helper()
	if got.State != state || !strings.Contains(got.Found, found) || !strings.Contains(got.Cure, cure) {
		t.Errorf("got %+v\nwant %s, found …%s…, cure …%s…", got, state, found, cure)
	}
	if got.Found == "" || got.State != OK && got.Cure == "" || got.State == OK && got.Cure != "" {
		t.Errorf("incomplete: %+v", got)
	}
}

func TestLookAtProgram(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		said        string
		err         error
		state       string
		found, cure string
	}{
		"debian 12":    {"bubblewrap 0.8.0\n", nil, OK, "bubblewrap 0.8.0, /usr/bin/bwrap", ""},
		"newer":        {"bubblewrap 0.11.0\n", nil, OK, "0.11.0", ""},
		"much newer":   {"bubblewrap 1.0\n", nil, OK, "1.0", ""},
		"ubuntu 22.04": {"bubblewrap 0.6.1\n", nil, Fail, "bubblewrap 0.6.1 is too old: boxes need 0.8", "Ubuntu 24.04"},
		"other words":  {"bwrap of mine\n", nil, Warn, `unknown version: "bwrap of mine"`, "0.8 or later"},
		"broken":       {"error while loading shared libraries: libcap.so.2\n", errors.New("exit status 127"), Fail, "libcap.so.2", "apt-get"},
		"silent":       {"", errors.New("exit status 1"), Fail, "exit status 1", "apt-get"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := machine(nil)
			m.Command = func(_ context.Context, name string, args ...string) ([]byte, error) {
				if name != "/usr/bin/bwrap" || len(args) != 1 || args[0] != "--version" {
					t.Errorf("ran %s %q", name, args)
				}
				return []byte(test.said), test.err
			}
			like(t, m.lookAtProgram(t.Context()), test.state, test.found, test.cure)
		})
	}
	absent := machine(nil)
	absent.Program = func() (string, error) { return "", exec.ErrNotFound }
	like(t, absent.lookAtProgram(t.Context()), Fail, "not installed", "apt-get install bubblewrap")
	like(t, absent.lookAtBox(t.Context(), nil), NA, "not tried", "apt-get install bubblewrap")

	setuid := machine(nil)
	setuid.Root.(fstest.MapFS)["usr/bin/bwrap"].Mode |= fs.ModeSetuid
	like(t, setuid.lookAtProgram(t.Context()), Fail, "setuid root", "chmod u-s /usr/bin/bwrap")
}

// What forbids boxes is found ahead of any try, and given again, with the same
// cure, when a box is refused.
func TestObstacles(t *testing.T) {
	t.Parallel()
	const (
		noRights = "bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces."
		noMap    = "bwrap: setting up uid map: Permission denied"
		exceeded = "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)"
		noProc   = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted"
		sysctl   = "proc/sys/kernel/apparmor_restrict_unprivileged_userns"
		shipped  = "# for bwrap {\nabi <abi/4.0>,\nprofile bwrap /usr/bin/bwrap flags=(attach_disconnected) {\n  userns,\n}\nprofile unpriv_bwrap {\n}\n"
	)
	for name, test := range map[string]struct {
		files   map[string]string
		said    string
		state   string // of the look at namespaces
		problem string // in what a refusal says
		cure    string
	}{
		"turned off":       {map[string]string{"proc/sys/user/max_user_namespaces": "0\n"}, exceeded, Fail, "user.max_user_namespaces is 0", "sysctl -w user.max_user_namespaces=10000"},
		"of another kind":  {map[string]string{"proc/sys/user/max_pid_namespaces": "0\n"}, exceeded, Fail, "user.max_pid_namespaces is 0", "sysctl -w user.max_pid_namespaces=10000"},
		"old debian":       {map[string]string{"proc/sys/kernel/unprivileged_userns_clone": "0\n"}, noRights, Fail, "unprivileged_userns_clone is 0", "unprivileged_userns_clone=1"},
		"old debian, on":   {map[string]string{"proc/sys/kernel/unprivileged_userns_clone": "1\n"}, noRights, OK, "the kernel refuses", "dmesg"},
		"ubuntu 24.04":     {map[string]string{sysctl: "1\n"}, noMap, Warn, "no AppArmor profile lets bwrap", "profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }"},
		"ubuntu, other":    {map[string]string{sysctl: "1\n", "etc/apparmor.d/firefox": "profile firefox /usr/bin/firefox {\n}\n"}, noMap, Warn, "no AppArmor profile", "apparmor_parser -r /etc/apparmor.d/bwrap"},
		"ubuntu, disabled": {map[string]string{sysctl: "1\n", "etc/apparmor.d/bwrap": shipped, "etc/apparmor.d/disable/bwrap": ""}, noMap, Warn, "no AppArmor profile", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
		"ubuntu, profile":  {map[string]string{sysctl: "1\n", "etc/apparmor.d/bwrap-userns-restrict": shipped}, noMap, OK, "not loaded or is too narrow", "apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict"},
		"ubuntu, by path":  {map[string]string{sysctl: "1\n", "etc/apparmor.d/mine": "/usr/bin/bwrap flags=(unconfined) {\n userns,\n}\n"}, noMap, OK, "/etc/apparmor.d/mine", "apparmor_parser -r /etc/apparmor.d/mine"},
		"ubuntu, lifted":   {map[string]string{sysctl: "0\n"}, noMap, OK, "the kernel refuses", "dmesg"},
		"docker":           {map[string]string{".dockerenv": ""}, noRights, OK, "inside a container (docker)", "--security-opt seccomp=unconfined"},
		"podman, proc":     {map[string]string{"run/.containerenv": ""}, noProc, OK, "inside a container (podman)", "unmask=ALL"},
		"lxc":              {map[string]string{"run/systemd/container": "lxc\n"}, noRights, OK, "inside a container (lxc)", "docker boxes"},
		"nested":           {nil, exceeded, OK, "inside another sandbox", "outside of other sandboxes"},
		"seccomp":          {map[string]string{"proc/self/status": "Name:\tassay\nSeccomp:\t2\nSeccomp_filters:\t1\n"}, noRights, OK, "a seccomp filter", "RestrictNamespaces=no"},
		"loopback":         {map[string]string{sysctl: "1\n"}, "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", Warn, "no AppArmor profile", "{ userns, }"},
		"version":          {nil, "bwrap: Unknown option --disable-userns", OK, "too old", "0.8 or later"},
		"setuid":           {nil, "bwrap: The --size option is not permitted in setuid mode", OK, "/usr/bin/bwrap is setuid", "chmod u-s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := machine(test.files)
			look := m.lookAtNamespaces(t.Context())
			if test.state == OK {
				like(t, look, OK, "allowed", "")
			} else {
				like(t, look, test.state, test.problem, test.cure)
			}
			u := m.explain(test.said)
			if u == nil {
				t.Fatalf("%q is not explained", test.said)
			}
			like(t, failed(u), Fail, test.problem, test.cure)
		})
	}
	withProfile := machine(map[string]string{sysctl: "1\n", "etc/apparmor.d/bwrap-userns-restrict": shipped})
	like(t, withProfile.lookAtNamespaces(t.Context()), OK, "has a profile for bwrap: /etc/apparmor.d/bwrap-userns-restrict", "")
	without := machine(nil)
	delete(without.Root.(fstest.MapFS), "proc/self/ns/user")
	like(t, without.lookAtNamespaces(t.Context()), Fail, "without user namespaces", "CONFIG_USER_NS")
}

func TestOtherFaultsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, said := range []string{"", "bwrap: Can't find source path /no/such/root: No such file or directory", "panic: no"} {
		if u := machine(nil).explain(said); u != nil {
			t.Errorf("%q is explained as %v", said, u)
		}
		cause := errors.New("cause")
		if got := refused(cause, said); got != cause {
			t.Errorf("%q: %v", said, got)
		}
	}
	var u *sandbox.UnavailableError
	if err := refused(errors.New("box lost"), "bwrap: setting up uid map: Permission denied"); !errors.As(err, &u) || u.Cure == "" || !strings.Contains(u.Problem, "box lost") {
		t.Errorf("%v", err)
	}
	if err := unstarted(syscall.ENOENT); errors.As(err, &u) || !errors.Is(err, syscall.ENOENT) {
		t.Errorf("%v", err)
	}
	if err := unstarted(syscall.EPERM); errors.As(err, &u) != (os.Geteuid() == 0) {
		t.Errorf("%v", err)
	}
}

func TestLookAtBox(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err         error
		state       string
		found, cure string
	}{
		"opens":   {nil, OK, "ran true", ""},
		"refused": {&sandbox.UnavailableError{Problem: "p", Cure: "c"}, Fail, "p", "c"},
		"lost":    {errors.New("box lost"), Fail, "box lost", "dmesg"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := machine(nil).lookAtBox(t.Context(), func(context.Context) error { return test.err })
			like(t, got, test.state, test.found, test.cure)
		})
	}
}

// On a machine where the suite can run, all is well, with a root tree and
// without one.
func TestDiagnoseThisMachine(t *testing.T) {
	f, err := factory()
	boxtest.Skip(t, err)
	for _, root := range []rootfs.Root{f.root, {}} {
		looks := Diagnose(ThisMachine(), func(ctx context.Context) error { return Try(ctx, root) })
		if len(looks) != 3 {
			t.Fatalf("%d looks", len(looks))
		}
		for _, look := range looks {
			if got := look.Run(t.Context()); got.State != OK && got.State != Warn || got.Found == "" {
				t.Errorf("root %q, %s: %+v", root.Path, look.Name, got)
			}
		}
	}
}

func TestTryEndsWithItsContext(t *testing.T) {
	f, err := factory()
	boxtest.Skip(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, root := range []rootfs.Root{f.root, {}} {
		if err := Try(ctx, root); !errors.Is(err, context.Canceled) {
			t.Errorf("root %q: %v", root.Path, err)
		}
	}
}
