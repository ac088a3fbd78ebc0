package scripted

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"assay/internal/bench"
)

const (
	fileSchema  = 1
	maxFile     = 4 << 20 // bytes of a profile file
	maxContents = 1 << 20 // bytes of a content_file
)

// FileError lists everything that is wrong with a profile file, by line.
type FileError struct {
	Path   string
	Faults []FileFault
}

// FileFault is one fault of a profile file.
type FileFault struct {
	Line int // from 1
	Text string
}

func (e *FileError) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = fmt.Sprintf("%s:%d: %s", e.Path, f.Line, f.Text)
	}
	return strings.Join(lines, "\n")
}

// LoadProfiles reads a profile file, described in the package documentation. What
// is wrong with its content is a *FileError with all faults at once.
func LoadProfiles(path string) ([]Profile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("profile file: %w", err)
	}
	defer f.Close()
	data, err := readBounded(f, maxFile)
	if err != nil {
		return nil, fmt.Errorf("profile file %s: %w", path, err)
	}
	// What it names must lie in its folder.
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("profile file: %w", err)
	}
	defer root.Close()
	profiles, faults := parseProfiles(data, func(name string) ([]byte, error) {
		c, err := root.Open(name)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		return readBounded(c, maxContents)
	})
	if len(faults) > 0 {
		return nil, &FileError{path, faults}
	}
	return profiles, nil
}

func readBounded(f *os.File, most int64) ([]byte, error) {
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > most {
		return nil, fmt.Errorf("it is larger than %d bytes", most)
	}
	return b, nil
}

// The shape of a file. Single values are any, so that a wrong type is one fault
// among others and does not end the decoding.
type (
	fileBody struct {
		Schema   any           `toml:"schema"`
		Profiles []fileProfile `toml:"profile"`
	}
	fileProfile struct {
		Model    any           `toml:"model"`
		Context  any           `toml:"context_per_slot"`
		Slots    any           `toml:"slots"`
		Pace     any           `toml:"pace"`
		Key      any           `toml:"key"`
		Public   any           `toml:"public"`
		Speed    fileSpeed     `toml:"speed"`
		Programs []fileProgram `toml:"program"`
	}
	fileSpeed struct {
		Prefill    any `toml:"prefill_tps"`
		Decode     any `toml:"decode_tps"`
		Depth      any `toml:"draft_depth"`
		Acceptance any `toml:"acceptance"`
	}
	fileProgram struct {
		Name       any        `toml:"name"`
		Task       any        `toml:"task"`
		Seeds      any        `toml:"seeds"`
		StudySeeds any        `toml:"study_seeds"`
		Turns      []fileTurn `toml:"turn"`
	}
	fileTurn struct {
		Reasoning       any        `toml:"reasoning"`
		ReasoningTokens any        `toml:"reasoning_tokens"`
		Text            any        `toml:"text"`
		TextTokens      any        `toml:"text_tokens"`
		Finish          any        `toml:"finish"`
		Calls           []fileCall `toml:"call"`
	}
	fileCall struct {
		Name         any `toml:"name"`
		Arguments    any `toml:"arguments"`
		RawArguments any `toml:"raw_arguments"`
		ContentFile  any `toml:"content_file"`
	}
)

// parseProfiles decodes a file and returns its profiles, or all its faults in the
// order of their lines. Read returns the bytes of a content_file.
func parseProfiles(data []byte, read func(name string) ([]byte, error)) ([]Profile, []FileFault) {
	var body fileBody
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&body)
	l := &loader{read: read}
	var unknown *toml.StrictMissingError
	var broken *toml.DecodeError
	switch {
	case errors.As(err, &unknown):
		for _, e := range unknown.Errors {
			row, _ := e.Position()
			l.faults = append(l.faults, FileFault{row, "unknown key " + strings.Join(e.Key(), ".")})
		}
	case errors.As(err, &broken):
		row, _ := broken.Position()
		return nil, []FileFault{{max(row, 1), strings.TrimPrefix(broken.Error(), "toml: ")}}
	case err != nil:
		return nil, []FileFault{{1, strings.TrimPrefix(err.Error(), "toml: ")}}
	}
	l.lines = keyLines(data)
	profiles := l.body(body)
	slices.SortStableFunc(l.faults, func(a, b FileFault) int { return cmp.Compare(a.Line, b.Line) })
	if len(l.faults) > 0 {
		return nil, l.faults
	}
	return profiles, nil
}

func (l *loader) body(b fileBody) []Profile {
	if b.Schema == nil {
		l.add("schema", "is missing: this version reads schema = %d", fileSchema)
	} else if n := value[int](l, "schema", b.Schema); b.Schema != nil && n != fileSchema {
		l.add("schema", "must be %d", fileSchema)
	}
	if len(b.Profiles) == 0 {
		l.add("profile", "is missing: the file needs at least one [[profile]]")
	}
	var out []Profile
	for i, f := range b.Profiles {
		at := fmt.Sprintf("profile[%d]", i)
		p := l.profile(at, f)
		for _, f := range p.faults() {
			path := at + "." + f.path
			if !l.mistyped[path] {
				l.add(path, "%s", f.text)
			}
		}
		out = append(out, p)
	}
	return out
}

func (l *loader) profile(at string, f fileProfile) Profile {
	p := Profile{
		Model:          value[string](l, at+".model", f.Model),
		ContextPerSlot: value[int](l, at+".context_per_slot", f.Context),
		Slots:          value[int](l, at+".slots", f.Slots),
		Pace:           Pace(value[string](l, at+".pace", f.Pace)),
		Key:            value[string](l, at+".key", f.Key),
		Public:         value[bool](l, at+".public", f.Public),
		Speed: Speed{
			PrefillTPS: value[float64](l, at+".speed.prefill_tps", f.Speed.Prefill),
			DecodeTPS:  value[float64](l, at+".speed.decode_tps", f.Speed.Decode),
			DraftDepth: value[int](l, at+".speed.draft_depth", f.Speed.Depth),
			Acceptance: value[float64](l, at+".speed.acceptance", f.Speed.Acceptance),
		},
	}
	for i, g := range f.Programs {
		p.Programs = append(p.Programs, l.program(fmt.Sprintf("%s.program[%d]", at, i), g))
	}
	return p
}

func (l *loader) program(at string, f fileProgram) Program {
	p := Program{
		Name:  value[string](l, at+".name", f.Name),
		Task:  value[string](l, at+".task", f.Task),
		Seeds: l.integers(at+".seeds", f.Seeds),
	}
	for _, s := range l.integers(at+".study_seeds", f.StudySeeds) {
		p.Seeds = append(p.Seeds, bench.SamplerSeed(int(s), 1))
	}
	for i, t := range f.Turns {
		p.Turns = append(p.Turns, l.turn(fmt.Sprintf("%s.turn[%d]", at, i), t))
	}
	return p
}

func (l *loader) turn(at string, f fileTurn) Turn {
	t := Turn{
		Reasoning:       value[string](l, at+".reasoning", f.Reasoning),
		ReasoningTokens: value[int](l, at+".reasoning_tokens", f.ReasoningTokens),
		Text:            value[string](l, at+".text", f.Text),
		TextTokens:      value[int](l, at+".text_tokens", f.TextTokens),
		Finish:          value[string](l, at+".finish", f.Finish),
	}
	for i, c := range f.Calls {
		t.Calls = append(t.Calls, l.call(fmt.Sprintf("%s.call[%d]", at, i), c))
	}
	return t
}

func (l *loader) call(at string, f fileCall) Call {
	c := Call{
		Name:         value[string](l, at+".name", f.Name),
		RawArguments: value[string](l, at+".raw_arguments", f.RawArguments),
	}
	arguments := value[map[string]any](l, at+".arguments", f.Arguments)
	if name := value[string](l, at+".content_file", f.ContentFile); name != "" {
		b, err := l.read(name)
		if err != nil {
			l.add(at+".content_file", "cannot be read: %v", err)
		}
		if _, set := arguments["content"]; set {
			l.add(at+".content_file", "arguments have a content already")
		}
		if arguments == nil {
			arguments = map[string]any{}
		}
		arguments["content"] = string(b)
	}
	if arguments != nil {
		c.Arguments = arguments
	}
	return c
}
