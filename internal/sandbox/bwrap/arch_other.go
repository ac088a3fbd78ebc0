//go:build !amd64 && !arm64

package bwrap

const auditArch uint32 = 0
