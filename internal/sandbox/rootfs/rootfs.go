// Package rootfs makes the root tree of boxes from the packages of the Debian
// that runs on this machine, once, into a cache.
package rootfs

import (
	"os"
	"path/filepath"
)

// System is the cache that every user of a machine may read. Root builds there.
const System = "/var/cache/assay"

// Root is a root tree that boxes run on.
type Root struct {
	Path           string // of the tree
	Digest         string // sha256 over every path, mode, link target and content, hex
	Python         string // "3.11.2"
	PackagesDigest string // sha256 of the sorted package list, hex
	Recipe         string // id of what it was made by
	Suite          string // "bookworm"
	Architecture   string // Debian's name, which is Go's for "amd64" and "arm64"; empty: the tree's packages do not say
}

// DefaultCache is where the tree is kept: $ASSAY_CACHE, else for root the
// system's cache, because boxes run as an ordinary user who cannot enter root's
// home, else the user's cache.
func DefaultCache(getenv func(string) string) string {
	if dir := getenv("ASSAY_CACHE"); dir != "" {
		return dir
	}
	if os.Geteuid() == 0 {
		return System
	}
	if dir := getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "assay")
	}
	return filepath.Join(getenv("HOME"), ".cache", "assay")
}
