package rootfs

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"assay/internal/bench"
)

// recipeVersion changes whenever the finishing of a tree does.
const recipeVersion = 3

// Epoch is the time stamp of everything that is generated, in seconds since
// 1970, so that the same packages make the same bytes.
const Epoch = 1700000000

// BoxUID is the uid and gid that a box's processes see themselves as.
const BoxUID = 10001

var packages = []string{
	"base-files", "base-passwd", "coreutils", "dash", "diffutils", "findutils", "grep", "libc-bin", "libnss-myhostname", "mawk",
	"python3", "sed",
}

// leftOut are package files that no process of a box reads.
var leftOut = []string{"/usr/share/doc/*", "/usr/share/info/*", "/usr/share/lintian/*", "/usr/share/locale/*", "/usr/share/man/*"}

// Recipe is the id of the recipe by which a tree is made on this machine. The
// error is a *sandbox.UnavailableError where none can be made, for the machine
// does not run Debian.
func Recipe() (string, error) {
	r, err := own()
	if err != nil {
		return "", err
	}
	return r.id(), nil
}

// own is the recipe of the Debian that runs on this machine.
func own() (recipe, error) {
	osRelease, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return recipe{}, fmt.Errorf("find out which system this is: %w", err)
	}
	suite, err := suiteOf(osRelease)
	return recipe{suite: suite}, err
}

// recipe is all that decides what a tree holds, but for the state of the
// package mirror.
type recipe struct {
	suite string
}

func (r recipe) id() string {
	text := fmt.Sprintf("recipe %d\n%s\n%s\n%s\n%s\n", recipeVersion, r.suite, runtime.GOARCH, strings.Join(packages, " "), strings.Join(leftOut, " "))
	return bench.Digest([]byte(text))[:12]
}

// args is the command line of mmdebstrap; sources come on its stdin.
func (r recipe) args(target string, aptOptions []string) []string {
	a := []string{
		"--mode=root", "--variant=custom", "--format=directory", "--include=" + strings.Join(packages, ","),
		"--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr",
	}
	for _, pattern := range leftOut {
		a = append(a, "--dpkgopt=path-exclude="+pattern)
	}
	for _, o := range aptOptions {
		a = append(a, "--aptopt="+o)
	}
	return append(a, r.suite, target, "-")
}
