//go:build !amd64 && !arm64

package seccomp

const auditArch uint32 = 0
