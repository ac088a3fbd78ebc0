package rootfs

import (
	"fmt"
	"runtime"
	"strings"

	"assay/internal/bench"
)

// recipeVersion changes whenever the finishing of a tree does.
const recipeVersion = 2

// epoch is the time stamp of everything that mmdebstrap generates, so that the
// same packages make the same bytes.
const epoch = "SOURCE_DATE_EPOCH=1700000000"

// BoxUID is the uid and gid that a box's processes see themselves as.
const BoxUID = 10001

var packages = []string{
	"base-files", "base-passwd", "coreutils", "dash", "diffutils", "findutils", "grep", "libc-bin", "mawk", "python3", "sed",
}

// leftOut are package files that no process of a box reads.
var leftOut = []string{"/usr/share/doc/*", "/usr/share/info/*", "/usr/share/lintian/*", "/usr/share/locale/*", "/usr/share/man/*"}

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
