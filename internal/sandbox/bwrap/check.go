package bwrap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assay/internal/bench"
	"assay/internal/sandbox"
	"assay/internal/sandbox/link"
	"assay/internal/sandbox/rootfs"
)

// States of a finding.
const (
	OK   = "ok"
	Warn = "warn"
	Fail = "fail"
	NA   = "n/a"
)

// Finding is what a look at one thing came to. Cure is what mends it.
type Finding struct {
	State, Found, Cure string
}

// Look is one of the things to look at. Looks are independent of each other.
type Look struct {
	Name string
	Run  func(context.Context) Finding
}

// Names of the looks.
const (
	LookProgram    = "bwrap"
	LookNamespaces = "user namespaces"
	LookBox        = "bwrap box"
)

// Machine is what a diagnosis reads.
type Machine struct {
	Root    fs.FS                  // the root folder; paths in it have no leading slash
	Program func() (string, error) // where bwrap is
	Command func(ctx context.Context, name string, args ...string) ([]byte, error)
}

// ThisMachine is the one that this program runs on.
func ThisMachine() Machine {
	return Machine{Root: os.DirFS("/"), Program: findBwrap, Command: func(ctx context.Context, name string, args ...string) ([]byte, error) {
		return exec.CommandContext(ctx, name, args...).CombinedOutput()
	}}
}

// Diagnose says what to look at to know whether boxes can be opened here. try
// opens one (see Try); nothing else of it changes anything on the machine.
func Diagnose(m Machine, try func(context.Context) error) []Look {
	return []Look{
		{LookProgram, m.lookAtProgram},
		{LookNamespaces, m.lookAtNamespaces},
		{LookBox, func(ctx context.Context) Finding { return m.lookAtBox(ctx, try) }},
	}
}

const install = "run as root: apt-get install bubblewrap"

// errAbsent says that there is no bwrap.
func errAbsent() *sandbox.UnavailableError {
	return &sandbox.UnavailableError{Problem: "bwrap is not installed", Cure: install}
}

// errOld is about the option --disable-userns, without which code in a box could
// make namespaces of its own and be root in them.
func errOld(version string) *sandbox.UnavailableError {
	return &sandbox.UnavailableError{
		Problem: version + " is too old: boxes need 0.8 or later, for --disable-userns",
		Cure:    "install bubblewrap 0.8 or later (Debian 12, Ubuntu 24.04 and later have it), and put it first on PATH",
	}
}

// errSetuid is about the option --size, which bwrap refuses with rights of root.
func errSetuid(path string) *sandbox.UnavailableError {
	return &sandbox.UnavailableError{
		Problem: path + " is setuid root, and then bounds no tmpfs",
		Cure:    "run as root: chmod u-s " + path + " (it then needs user namespaces)",
	}
}

func failed(u *sandbox.UnavailableError) Finding { return Finding{Fail, u.Problem, u.Cure} }

var versionOf = regexp.MustCompile(`(\d+)\.(\d+)`)

func (m Machine) lookAtProgram(ctx context.Context) Finding {
	path, err := m.Program()
	if err != nil {
		return failed(errAbsent())
	}
	if info, err := fs.Stat(m.Root, strings.TrimPrefix(path, "/")); err == nil && info.Mode()&fs.ModeSetuid != 0 {
		return failed(errSetuid(path))
	}
	out, err := m.Command(ctx, path, "--version")
	if err != nil {
		why := err.Error()
		if len(out) > 0 {
			why = string(out)
		}
		return Finding{Fail, fmt.Sprintf("%s does not run: %s", path, why), "install it again; " + install}
	}
	version := string(bytes.TrimSpace(out))
	v := versionOf.FindStringSubmatch(version)
	if v == nil {
		return Finding{Warn, fmt.Sprintf("%s, of unknown version: %q", path, version), "boxes need bubblewrap 0.8 or later; " + install}
	}
	major, _ := strconv.Atoi(v[1])
	if minor, _ := strconv.Atoi(v[2]); major == 0 && minor < 8 {
		return failed(errOld(version))
	}
	return Finding{OK, version + ", " + path, ""}
}

func (m Machine) lookAtBox(ctx context.Context, try func(context.Context) error) Finding {
	if _, err := m.Program(); err != nil {
		return Finding{NA, "not tried: bwrap is not installed", install}
	}
	start := time.Now()
	err := try(ctx)
	var u *sandbox.UnavailableError
	switch {
	case errors.As(err, &u):
		return failed(u)
	case err != nil:
		return Finding{Fail, err.Error(), "look at what bwrap says; dmesg | tail may name what refused it"}
	}
	return Finding{OK, fmt.Sprintf("opened, and ran true in it, in %d ms", time.Since(start).Milliseconds()), ""}
}

// Try opens a box and runs the program true in it. Without a root tree (an empty
// root) it only shows that bwrap may make the namespaces, on the machine's own
// root folder.
func Try(ctx context.Context, root rootfs.Root) error {
	if root.Path == "" {
		return tryBare(ctx)
	}
	f, err := New(root)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := f.Open(ctx, sandbox.Options{})
	if err != nil {
		return err
	}
	r, err := b.Run(ctx, bench.Command{Argv: []string{"/bin/true"}})
	if err == nil && (r.Exit.Reason != bench.ExitExited || r.Exit.Code != 0) {
		err = fmt.Errorf("true ended with %s, status %d", r.Exit.Reason, r.Exit.Code)
	}
	return errors.Join(err, b.Close())
}

func tryBare(ctx context.Context) error {
	path, err := findBwrap()
	if err != nil {
		return errAbsent()
	}
	cmd := exec.CommandContext(ctx, path, "--unshare-all", "--unshare-user", "--disable-userns", "--uid", boxID, "--gid", boxID,
		"--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--size", "1048576", "--tmpfs", "/tmp", "--", "/bin/true")
	cmd.Dir, cmd.Env, cmd.WaitDelay = "/", []string{}, closeTime
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: firstUID, Gid: firstUID}}
	}
	said := &link.Tail{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		return unstarted(err)
	}
	if err := cmd.Wait(); err != nil {
		return refused(fmt.Errorf("%w: %s", err, said), said.String())
	}
	return nil
}
