package tasks

import (
	"bytes"
	"errors"
	"io/fs"
	"iter"
	"maps"
	"path"
	"regexp"
	"slices"
	"unicode/utf8"

	"assay/internal/bench"
)

// maxInstruction bounds the prompt in bytes, maxSettings the settings file.
const (
	maxInstruction = 64 << 10
	maxSettings    = 64 << 10
)

var sizes = []string{"smoke", "short", "long"}

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Info says what a task is without rendering it.
type Info struct {
	Name        string
	Description string
	Clauses     int      // numbered clauses of the instruction
	Protected   []string // patterns of files that a candidate must leave alone
	Size        string   // "smoke", "short" or "long"
	Entry       string   // file that a candidate must have
	Seeded      bool     // it has variants that a seed selects
}

// Source is a task as its folder holds it, not rendered yet.
type Source struct {
	Info
	Warnings []Fault // keys that were kept and not used

	values      map[string]any // of the fixed variant
	instruction bench.File
	workspace   bench.Tree
	reference   bench.Tree
}

// Load reads the folder name of fsys, which holds one folder per task. Everything
// that is wrong with it is returned at once, as Faults.
func Load(fsys fs.FS, name string) (*Source, error) {
	var faults Faults
	s := &Source{Info: Info{Name: name}}
	if !namePattern.MatchString(name) {
		faults.Add(name, 0, "a task's name is lower-case letters and digits, parts joined by -")
		return nil, faults.Err()
	}
	if _, err := fs.Stat(fsys, name); err != nil {
		faults.Add(name, 0, "no such task folder: %v", err)
		return nil, faults.Err()
	}
	s.readInstruction(fsys, name, &faults)
	s.readWorkspace(fsys, path.Join(name, "environment/workspace"), &faults)
	s.readReference(fsys, path.Join(name, "solution"), &faults)
	s.readSettings(fsys, path.Join(name, "task.toml"), &faults)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Source) readInstruction(fsys fs.FS, dir string, faults *Faults) {
	name := "instruction.md"
	file := path.Join(dir, name)
	if _, err := fs.Lstat(fsys, file+templateSuffix); err == nil {
		name, file = name+templateSuffix, file+templateSuffix
	}
	data, ok := ReadFile(fsys, file, maxInstruction, faults)
	if !ok {
		return
	}
	s.instruction = bench.File{Path: name, Data: data}
	switch {
	case !utf8.Valid(data):
		faults.Add(file, 1+bytes.Count(data[:invalidAt(data)], []byte("\n")), "not valid UTF-8")
		return
	case len(bytes.TrimSpace(data)) == 0:
		faults.Add(file, 0, "empty")
		return
	}
	for _, bad := range []struct {
		b    byte
		what string
	}{{'\r', "a carriage return; lines end in LF only"}, {0, "a NUL byte"}} {
		if at := bytes.IndexByte(data, bad.b); at >= 0 {
			faults.Add(file, 1+bytes.Count(data[:at], []byte("\n")), "%s", bad.what)
		}
	}
	clauses := Clauses(string(data))
	checkClauses(file, clauses, faults)
	s.Clauses = len(clauses)
}

func invalidAt(data []byte) int {
	at := 0
	for at < len(data) {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at
}

func (s *Source) readWorkspace(fsys fs.FS, dir string, faults *Faults) {
	before := len(*faults)
	s.workspace = ReadTree(fsys, dir, WorkspaceLimits(), faults)
	if len(s.workspace) == 0 && len(*faults) == before {
		faults.Add(dir, 0, "no file; a task starts from at least a stub")
	}
}

// readReference reads the solution without the script that copies it.
func (s *Source) readReference(fsys fs.FS, dir string, faults *Faults) {
	tree := ReadTree(fsys, dir, WorkspaceLimits(), faults)
	if _, ok := tree.Get("solve.sh"); !ok {
		faults.Add(path.Join(dir, "solve.sh"), 0, "missing; it lays the reference over the workspace")
	}
	tree = slices.DeleteFunc(tree, func(f bench.File) bool { return f.Path == "solve.sh" })
	if len(tree) == 0 {
		faults.Add(dir, 0, "no reference file")
	}
	s.reference = tree
}

func (s *Source) readSettings(fsys fs.FS, file string, faults *Faults) {
	data, ok := ReadFile(fsys, file, maxSettings, faults)
	if !ok {
		return
	}
	before := len(*faults)
	doc := ParseTable(file, data, faults)
	if len(*faults) > before {
		return
	}
	if v := doc.Required("schema_version"); v != "" && !slices.Contains(schemaVersions, v) {
		doc.Fault("schema_version", "schema_version %q is not known; known are 1.0 to 1.4", v)
	}
	task := doc.Table("task", true)
	if name := task.Required("name"); name != "" && path.Base(name) != s.Name {
		task.Fault("name", "task.name %q does not end in the folder's name %q", name, s.Name)
	}
	s.Description = task.Optional("description")
	ours := doc.Table("metadata", true).Table("assay", true)
	s.Size = ours.Required("size")
	if s.Size != "" && !slices.Contains(sizes, s.Size) {
		ours.Fault("size", "metadata.assay.size %q must be one of smoke, short, long", s.Size)
	}
	s.Entry = ours.Required("entry")
	if _, ok := s.reference.Get(s.Entry); s.Entry != "" && !ok {
		ours.Fault("entry", "metadata.assay.entry %q is not a file of the reference", s.Entry)
	}
	s.values = ours.Values("values")
	s.readProtected(ours)
	ours.Strict()
	s.Warnings = foreignKeys(doc)
}

// readProtected reads the patterns; one that no file of the workspace matches
// would protect nothing.
func (s *Source) readProtected(ours *Table) {
	s.Protected = ours.Strings("protected", true)
	for _, p := range s.Protected {
		if _, err := path.Match(p, ""); err != nil {
			ours.Fault("protected", "metadata.assay.protected: %q is not a pattern: %v", p, err)
			continue
		}
		matches := func(f bench.File) bool { return protected([]string{p}, f.Path) }
		if len(s.workspace) > 0 && !slices.ContainsFunc(s.workspace, matches) {
			ours.Fault("protected", "metadata.assay.protected: %q matches no file of the workspace", p)
		}
	}
}

// ReadFile reads a regular file of at most limit bytes, or notes why it cannot.
func ReadFile(fsys fs.FS, file string, limit int64, faults *Faults) ([]byte, bool) {
	info, err := fs.Lstat(fsys, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		faults.Add(file, 0, "missing")
	case err != nil:
		faults.Add(file, 0, "cannot be read: %v", err)
	case !info.Mode().IsRegular():
		faults.Add(file, 0, "%s; only regular files are allowed", kindOf(info.Mode()))
	case info.Size() > limit:
		faults.Add(file, 0, "%d bytes, the limit is %d", info.Size(), limit)
	default:
		data, err := fs.ReadFile(fsys, file)
		if err != nil {
			faults.Add(file, 0, "cannot be read: %v", err)
		}
		return data, err == nil
	}
	return nil, false
}

func sortedItems(m map[string]any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}
