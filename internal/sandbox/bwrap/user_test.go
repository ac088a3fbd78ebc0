package bwrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/sandbox"
	"assay/internal/sandbox/boxtest"
	"assay/internal/sandbox/rootfs"

	"golang.org/x/sys/unix"
)

// nobody is an ordinary uid and gid that every system has.
const nobody = 65534

func TestConformance(t *testing.T) {
	if os.Geteuid() != 0 {
		boxtest.Run(t, open)
		return
	}
	t.Run("as root", func(t *testing.T) { boxtest.Run(t, open) })
	t.Run("as an ordinary user", asOrdinaryUser)
}

// asOrdinaryUser runs the conformance test in a process without rights.
func asOrdinaryUser(t *testing.T) {
	_, err := factory() // builds the root tree where it must be built
	boxtest.Skip(t, err)
	home := userHome(t)
	cache := rootfs.DefaultCache(os.Getenv)
	var u *sandbox.UnavailableError
	if err := reachable(home); errors.As(err, &u) {
		t.Skipf("SKIP: bwrap is not tested as an ordinary user: %s\nto test it: set TMPDIR to a folder that everybody can enter", u.Problem)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	tests := "^TestConformance$"
	if os.Getenv("ASSAY_FULL") == "" {
		tests += "/^(identity|supervisor|quota|life|process|export)/"
		t.Log("only groups that differ by user: set ASSAY_FULL=1, or run make test-full, for the whole suite")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(home, "test"), "-test.run="+tests, "-test.v", "-test.timeout=6m")
	cmd.Dir = home
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "ASSAY_CACHE=" + cache}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, Groups: []uint32{}}}
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	t.Logf("as uid %d:\n%s", nobody, out)
	switch {
	case err != nil:
		t.Errorf("the conformance test as uid %d: %v", nobody, err)
	case strings.Contains(string(out), "--- SKIP: TestConformance ("):
		t.Skipf("SKIP: bwrap is not tested as uid %d on this machine; why and what to do stands above", nobody)
	case !strings.Contains(string(out), "--- PASS: TestConformance ("):
		t.Errorf("the conformance test did not run as uid %d", nobody)
	}
}

// userHome is a folder of the ordinary user with a copy of this program, whose
// own folder that user may not enter.
func userHome(t *testing.T) string {
	t.Helper()
	home, err := os.MkdirTemp("", "assay-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	err = errors.Join(os.Chmod(home, 0o755), os.Chown(home, nobody, nobody), copyProgram(filepath.Join(home, "test")))
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(home, &st); err == nil && st.Flags&unix.ST_NOEXEC != 0 {
		t.Skipf("SKIP: bwrap is not tested as an ordinary user: %s may not hold programs\nto test it: set TMPDIR to a folder that is not mounted noexec", home)
	}
	return home
}

func copyProgram(to string) error {
	in, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return fmt.Errorf("copy this program: %w", err)
	}
	return out.Close()
}
