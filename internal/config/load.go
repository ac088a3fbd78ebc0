package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	schemaVersion = 1
	maxFileBytes  = 1 << 20
	maxCells      = 1_000_000
)

// Load reads a study file. path is used in messages and for the default name
// only. The error is Faults with everything that is wrong; a fault of TOML
// syntax hides the rest, no other fault does. data is not kept.
func Load(path string, data []byte, known Known) (Study, error) {
	l := &loader{file: path, base: filepath.Base(path), known: known}
	study := l.load(data)
	if len(l.faults) > 0 {
		l.faults.sort()
		return Study{}, l.faults
	}
	study.settings = l.settings
	return study, nil
}

func (l *loader) load(data []byte) Study {
	if len(data) > maxFileBytes {
		l.fault(1, "", "", fmt.Sprintf("the file has %d bytes, the limit for a study is %d", len(data), maxFileBytes))
		return Study{}
	}
	if line := firstBadUTF8(data); line > 0 {
		l.fault(line, "", "", "not UTF-8: save the file as UTF-8 text")
		return Study{}
	}
	// Clipped: the parser takes positions from capacities.
	text := slices.Clip(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	root := parse(text, func(line int, key, message string) { l.fault(line, "", key, message) })
	if root == nil {
		return Study{}
	}
	if len(root.keys) == 0 {
		if len(l.faults) == 0 {
			l.fault(1, "", "", `the file has no settings: a study begins with "schema = 1" and has at least one [[arm]]`)
		}
		return Study{}
	}
	sum := sha256.Sum256(data)
	s := Study{Path: l.file, Text: slices.Clone(data), Digest: hex.EncodeToString(sum[:])}
	l.study(&s, section{l: l, n: root, line: 1})
	return s
}

func (l *loader) study(s *Study, top section) {
	top.known()
	l.schema(top)
	s.Name = l.studyName(top)
	coding := top.sub("coding")
	l.coding(s, coding)
	l.limits(s, coding.sub("limits"))
	sampling := l.sampling(top.sub("sampling"), nil)
	replay := l.agent(s, top.sub("agent"))
	l.grading(s, top.sub("grading"))
	l.rigs(s, top)
	compare := len(l.settings)
	l.arms(s, top, sampling, replay)
	// compare names arms, so it is read after them and explained before them.
	arms := slices.Clone(l.settings[compare:])
	l.settings = l.settings[:compare]
	l.compare(s, top.sub("compare"))
	l.settings = append(l.settings, arms...)
	if cells := len(s.Arms) * len(s.Tasks) * len(s.Seeds) * s.Repeats; cells > maxCells {
		l.fault(coding.line, coding.label, "", fmt.Sprintf(
			"%d arms x %d tasks x %d seeds x %d repeats are %d cells, the limit is %d",
			len(s.Arms), len(s.Tasks), len(s.Seeds), s.Repeats, cells, maxCells))
	}
}

func (l *loader) schema(top section) {
	n := top.get("schema")
	switch {
	case n == nil:
		l.fault(1, "", "schema", fmt.Sprintf("missing; write schema = %d as the first line", schemaVersion))
	case n.kind != kindInt:
		top.wrongType("schema", n, "a whole number")
	case n.num != schemaVersion:
		l.fault(n.line, "", "schema", fmt.Sprintf("%d is not supported, this assay reads schema %d", n.num, schemaVersion))
	}
}

func (l *loader) studyName(top section) string {
	stem := strings.TrimSuffix(l.base, filepath.Ext(l.base))
	name, n := top.optionalString("name")
	if n == nil {
		if why := badName(stem); why != "" {
			stem = "study"
		}
		top.setting("name", stem, "file name")
		return stem
	}
	if why := badName(name); why != "" {
		top.faultAt(n, "name", why)
	}
	top.setting("name", name, l.at(n))
	return name
}

// firstBadUTF8 returns the line of the first byte that is not UTF-8, or 0.
func firstBadUTF8(data []byte) int {
	line := 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			return line
		}
		if r == '\n' {
			line++
		}
		data = data[size:]
	}
	return 0
}
