package supervisor_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"assay/internal/sandbox/supervisor"

	"golang.org/x/sys/unix"
)

// inside runs as PID 1 of fresh namespaces: it lays a root of this machine's
// programs at dir, keeps three capabilities and becomes the supervisor.
func inside(dir, uid, counter string) error {
	if _, err := io.Copy(io.Discard, os.NewFile(3, "go on")); err != nil {
		return err
	}
	runtime.LockOSThread()
	if err := layRoot(dir, uid, counter); err != nil {
		return err
	}
	n, err := strconv.Atoi(uid)
	if err != nil {
		return err
	}
	if err := keep(unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_KILL); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return syscall.Exec("/proc/self/exe", append([]string{"supervisor"}, supervisor.Args(n)...), []string{})
}

func layRoot(dir, uid, counter string) error {
	at := func(name string) string { return filepath.Join(dir, name) }
	var err error
	mount := func(source, target, kind string, flags uintptr, data string) {
		if err != nil {
			return
		}
		if err = unix.Mount(source, target, kind, flags, data); err != nil {
			err = fmt.Errorf("mount %s at %s: %w", source, target, err)
		}
	}
	tmpfs := func(name, data string) {
		if err == nil {
			err = os.MkdirAll(at(name), 0o755)
		}
		mount("tmpfs", at(name), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, data)
	}
	bind := func(source, name string) {
		mount(source, at(name), "", unix.MS_BIND, "")
		mount("", at(name), "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID, "")
	}
	mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	tmpfs(".", "mode=0755")
	for _, name := range []string{"usr", "bin", "sbin", "lib", "lib64"} {
		if to, lerr := os.Readlink("/" + name); lerr == nil {
			err = errors.Join(err, os.Symlink(to, at(name)))
		} else if _, serr := os.Stat("/" + name); serr == nil {
			err = errors.Join(err, os.Mkdir(at(name), 0o755))
			bind("/"+name, name)
		}
	}
	err = errors.Join(err, os.Mkdir(at("proc"), 0o755))
	mount("proc", at("proc"), "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	tmpfs("dev", "mode=0755")
	for _, name := range []string{"dev/null", "dev/zero", "dev/urandom"} {
		if err == nil {
			err = os.WriteFile(at(name), nil, 0o644)
		}
		mount("/"+name, at(name), "", unix.MS_BIND, "")
	}
	if err == nil {
		err = os.Symlink("/proc/self/fd", at("dev/fd"))
	}
	tmpfs("dev/shm", "mode=1777,size=16m")
	if err == nil {
		err = os.Mkdir(at("dev/mqueue"), 0o755)
	}
	mount("mqueue", at("dev/mqueue"), "mqueue", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	tmpfs("tmp", "mode=1777,size=16m")
	tmpfs("w", "mode=0755,size=64m,uid="+uid+",gid="+uid)
	if counter != "" && err == nil {
		err = os.MkdirAll(at("sys/fs/cgroup/memory"), 0o755)
		bind(counter, "sys/fs/cgroup/memory")
	}
	if err == nil {
		err = os.Chdir(dir)
	}
	if err == nil {
		err = unix.PivotRoot(".", ".")
	}
	if err == nil {
		err = unix.Unmount(".", unix.MNT_DETACH)
	}
	if err == nil {
		err = os.Chdir("/")
	}
	mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
	return err
}

// keep drops all capabilities but some from this thread and what it executes.
func keep(kept ...uintptr) error {
	var data [2]unix.CapUserData
	for _, c := range kept {
		data[c/32].Permitted |= 1 << (c % 32)
	}
	for i := range data {
		data[i].Effective = data[i].Permitted
	}
	for c := uintptr(0); c < 64; c++ {
		if data[c/32].Permitted&(1<<(c%32)) != 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EINVAL {
			return err
		}
	}
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0]); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}
