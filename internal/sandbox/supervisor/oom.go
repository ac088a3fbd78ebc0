package supervisor

import (
	"bytes"
	"os"
	"strconv"
)

// oomCounter is the file in which the kernel counts the processes of the box
// that it killed because memory was used up; empty: there is none.
type oomCounter string

// findOOMCounter takes the first file that has a count.
func findOOMCounter(paths []string) oomCounter {
	for _, path := range paths {
		if c := oomCounter(path); c.read() != nil {
			return c
		}
	}
	return ""
}

// read gives the count so far, or nil where it is not known.
func (c oomCounter) read() *int64 {
	if c == "" {
		return nil
	}
	b, err := os.ReadFile(string(c))
	if err != nil {
		return nil
	}
	return parseOOMKills(b)
}

// since gives the kills after an earlier reading.
func (c oomCounter) since(before *int64) *int64 {
	if before == nil {
		return nil
	}
	now := c.read()
	if now == nil || *now < *before {
		return nil
	}
	kills := *now - *before
	return &kills
}

// parseOOMKills reads lines of a name and a number, as both versions of cgroups
// have them.
func parseOOMKills(b []byte) *int64 {
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		if len(f) != 2 || string(f[0]) != "oom_kill" {
			continue
		}
		if n, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil && n >= 0 {
			return &n
		}
	}
	return nil
}
