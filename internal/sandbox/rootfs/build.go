package rootfs

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// buildTime bounds one run of mmdebstrap; slow mirrors are slow.
const buildTime = 15 * time.Minute

// build makes the tree beside its place and moves it there. The manifest comes
// last: a tree without one does not count.
func build(ctx context.Context, r recipe, cacheDir string, progress func(string)) (Root, error) {
	sources, err := debianSources(os.DirFS("/etc/apt"), r.suite)
	if err != nil {
		return Root{}, err
	}
	if err := sweep(cacheDir, r.id()); err != nil {
		return Root{}, err
	}
	tmp, err := os.MkdirTemp(cacheDir, buildPrefix(r.id()))
	if err != nil {
		return Root{}, fmt.Errorf("make a folder to build the root tree in: %w", err)
	}
	defer os.RemoveAll(tmp)
	progress(fmt.Sprintf("building the root tree of boxes from packages of Debian %s into %s (once, about half a minute)", r.suite, treePath(cacheDir, r.id())))
	tree := filepath.Join(tmp, "root")
	ctx, cancel := context.WithTimeout(ctx, buildTime)
	defer cancel()
	if err := bootstrap(ctx, r, tree, tmp, sources); err != nil {
		return Root{}, err
	}
	m, err := describe(ctx, r, tree)
	if err != nil {
		return Root{}, err
	}
	final := treePath(cacheDir, r.id())
	for _, old := range []string{manifestPath(cacheDir, r.id()), final} {
		if err := os.RemoveAll(old); err != nil {
			return Root{}, fmt.Errorf("remove an unfit root tree: %w", err)
		}
	}
	if err := os.Rename(tree, final); err != nil {
		return Root{}, fmt.Errorf("move the root tree into place: %w", err)
	}
	if err := m.save(cacheDir); err != nil {
		return Root{}, fmt.Errorf("write the manifest of the root tree: %w", err)
	}
	return m.root(final), nil
}

// buildPrefix begins the names of the folders in which a tree is built.
func buildPrefix(id string) string { return ".build-" + id + "-" }

// sweep removes what builders of this tree left that were killed. The caller has
// the builder's lock, so none of them runs.
func sweep(cacheDir, id string) error {
	left, err := filepath.Glob(filepath.Join(cacheDir, buildPrefix(id)+"*"))
	if err != nil {
		return fmt.Errorf("look for unfinished root trees: %w", err)
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove an unfinished root tree: %w", err)
		}
	}
	return nil
}

// bootstrapEnv keeps what apt may need of the environment. The rest, such as API
// keys, is no business of package scripts.
func bootstrapEnv(environ []string) []string {
	needed := []string{"PATH", "HOME", "LANG", "LC_ALL", "APT_CONFIG", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY"}
	var kept []string
	for _, kv := range environ {
		if name, _, ok := strings.Cut(kv, "="); ok && slices.Contains(needed, strings.ToUpper(name)) {
			kept = append(kept, kv)
		}
	}
	return kept
}

func bootstrap(ctx context.Context, r recipe, tree, tmp string, sources []string) error {
	cmd := exec.CommandContext(ctx, "mmdebstrap", r.args(tree, proxies(ctx))...)
	cmd.Env = append(bootstrapEnv(os.Environ()), fmt.Sprint("SOURCE_DATE_EPOCH=", Epoch), "TMPDIR="+tmp)
	cmd.Stdin = strings.NewReader(strings.Join(sources, "\n") + "\n")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	// It forks; all of it must end with us.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("mmdebstrap with sources %q: %w; its last words:\n%s", sources, err, lastLines(said.String(), 15))
	}
	return finish(tree)
}

// proxies passes the machine's own apt proxies on; mmdebstrap reads none of
// apt's configuration.
func proxies(ctx context.Context) []string {
	out, err := exec.CommandContext(ctx, "apt-config", "dump", "--no-empty", "--format", "%f \"%v\";%n", "Acquire::http::Proxy", "Acquire::https::Proxy").Output()
	if err != nil {
		return nil // no apt-config, no proxies
	}
	var options []string
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); line != "" {
			options = append(options, line)
		}
	}
	return options
}

// finish adds what a box needs and takes away what is no file, and what would
// tell of the machine that built the tree: its package sources and proxies.
func finish(tree string) error {
	for _, left := range []string{"dev/*", "root/*", "var/log/*", "var/cache/*", "var/lib/apt/*", "var/lib/dpkg/lock*", "etc/apt/*"} {
		paths, err := filepath.Glob(filepath.Join(tree, left))
		if err != nil {
			return err
		}
		for _, path := range paths {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	for _, dir := range []string{"w", "tmp", "proc", "dev", "etc"} {
		if err := os.MkdirAll(filepath.Join(tree, dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.Chmod(tree, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"hosts":       "127.0.0.1\tlocalhost\n::1\tlocalhost\n",
		"hostname":    "box\n",
		"resolv.conf": "",
		// A docker engine lays an empty hosts file over ours: localhost must be known
		// without it.
		"nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files myhostname\n",
	} {
		if err := os.WriteFile(filepath.Join(tree, "etc", name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := appendTo(filepath.Join(tree, "etc/passwd"), fmt.Sprintf("box:x:%d:%d:box:/w:/bin/sh\n", BoxUID, BoxUID)); err != nil {
		return err
	}
	if err := appendTo(filepath.Join(tree, "etc/group"), fmt.Sprintf("box:x:%d:\n", BoxUID)); err != nil {
		return err
	}
	return open(tree)
}

// open lets everybody read the tree, so that every user can check and use it,
// and takes set-uid bits away.
func open(tree string) error {
	return filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type() == fs.ModeSymlink {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := info.Mode()&^(fs.ModeSetuid|fs.ModeSetgid) | 0o444
		if d.IsDir() {
			mode |= 0o111
		}
		if mode == info.Mode() {
			return nil
		}
		return os.Chmod(path, mode)
	})
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// describe makes the manifest of a finished tree.
func describe(ctx context.Context, r recipe, tree string) (manifest, error) {
	m := manifest{Schema: manifestSchema, Recipe: r.id(), Suite: r.suite}
	out, err := exec.CommandContext(ctx, "dpkg-query", "--admindir="+filepath.Join(tree, "var/lib/dpkg"), "-W", "-f", "${Package} ${Version} ${Architecture}\n").Output()
	if err != nil {
		return m, fmt.Errorf("list the packages of the root tree: %w", err)
	}
	m.Packages = strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(m.Packages)
	if out, err = exec.CommandContext(ctx, "chroot", tree, "/usr/bin/python3", "-I", "-S", "-c", "import platform; print(platform.python_version())").Output(); err != nil {
		return m, fmt.Errorf("ask the Python of the root tree for its version: %w", err)
	}
	m.Python = strings.TrimSpace(string(out))
	if m.Digest, err = contents(tree); err != nil {
		return m, err
	}
	m.Outline, err = outline(tree)
	return m, err
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}
