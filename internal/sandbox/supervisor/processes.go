package supervisor

import (
	"bytes"
	"os"
	"strconv"
)

// proc is a line of the process table.
type proc struct {
	pid, parent, session int
	zombie               bool
}

// processTable lists all processes of the box but PID 1.
func processTable() ([]proc, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var table []proc
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == 1 {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // ended meanwhile
		}
		if p, ok := parseStat(pid, stat); ok {
			table = append(table, p)
		}
	}
	return table, nil
}

// parseStat reads /proc/PID/stat. The command name may hold blanks and
// parentheses; the fields follow its last one.
func parseStat(pid int, stat []byte) (proc, bool) {
	_, rest, ok := bytes.Cut(stat[max(bytes.LastIndexByte(stat, ')'), 0):], []byte(") "))
	if !ok {
		return proc{}, false
	}
	f := bytes.Fields(rest) // state ppid pgrp session
	if len(f) < 4 {
		return proc{}, false
	}
	parent, err1 := strconv.Atoi(string(f[1]))
	session, err2 := strconv.Atoi(string(f[3]))
	return proc{pid, parent, session, f[0][0] == 'Z' || f[0][0] == 'X'}, err1 == nil && err2 == nil
}

// family gives those of the table that are a root, descend from one, or are in
// a session that a root leads.
func family(table []proc, roots map[int]bool) map[int]bool {
	in := map[int]bool{}
	for grown := true; grown; {
		grown = false
		for _, p := range table {
			if in[p.pid] || !roots[p.pid] && !roots[p.session] && !in[p.parent] {
				continue
			}
			in[p.pid] = true
			grown = true
		}
	}
	return in
}

// threads counts the threads of this process.
func threads() int {
	d, err := os.Open("/proc/self/task")
	if err != nil {
		return 16
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return 16
	}
	return len(names)
}
