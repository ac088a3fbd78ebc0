package rootfs

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"assay/internal/sandbox"
)

// source is one package source of apt.
type source struct {
	uri, suite string
	components []string
	signedBy   string // path of a keyring; empty: apt's own
}

func (s source) String() string {
	options := ""
	if s.signedBy != "" {
		options = "[signed-by=" + s.signedBy + "] "
	}
	return fmt.Sprintf("deb %s%s %s %s", options, s.uri, s.suite, strings.Join(s.components, " "))
}

// debian tells Debian's own sources from those of other vendors that the
// machine may have.
func (s source) debian() bool {
	if strings.HasPrefix(path.Base(s.signedBy), "debian-archive-keyring") {
		return true
	}
	u, err := url.Parse(s.uri)
	if err != nil || s.signedBy != "" {
		return false
	}
	base := path.Base(strings.TrimSuffix(u.Path, "/"))
	return base == "debian" || base == "debian-security"
}

// debianSources reads apt's configuration below etc (/etc/apt) and keeps
// Debian's sources of the suite and its updates, in one-line form.
func debianSources(etc fs.FS, suite string) ([]string, error) {
	names, err := fs.Glob(etc, "sources.list.d/*")
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, name := range append([]string{"sources.list"}, names...) {
		parse := parseList
		switch path.Ext(name) {
		case ".list":
		case ".sources":
			parse = parseDeb822
		default:
			continue
		}
		text, err := fs.ReadFile(etc, name)
		if err != nil {
			continue // apt, too, ignores what is not there
		}
		for _, s := range parse(text) {
			if s.debian() && (s.suite == suite || strings.HasPrefix(s.suite, suite+"-")) && !slices.Contains(lines, s.String()) {
				lines = append(lines, s.String())
			}
		}
	}
	if len(lines) == 0 {
		return nil, &sandbox.UnavailableError{
			Problem: fmt.Sprintf("/etc/apt names no Debian package source for %s", suite),
			Cure:    "add one to /etc/apt/sources.list, or copy a root tree from another machine into " + System,
		}
	}
	return lines, nil
}

// parseList reads the one-line form.
func parseList(text []byte) []source {
	var all []source
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "deb ")
		if !ok {
			continue
		}
		var s source
		rest = strings.TrimSpace(rest)
		if strings.HasPrefix(rest, "[") {
			options, after, ok := strings.Cut(rest[1:], "]")
			if !ok {
				continue
			}
			for _, o := range strings.Fields(options) {
				if v, ok := strings.CutPrefix(o, "signed-by="); ok {
					s.signedBy = v
				}
			}
			rest = after
		}
		if f := strings.Fields(rest); len(f) >= 3 {
			s.uri, s.suite, s.components = f[0], f[1], f[2:]
			all = append(all, s)
		}
	}
	return all
}

// parseDeb822 reads the form of .sources files.
func parseDeb822(text []byte) []source {
	var all []source
	for stanza := range bytes.SplitSeq(text, []byte("\n\n")) {
		fields := map[string]string{}
		last := ""
		for line := range strings.Lines(string(stanza)) {
			line = strings.TrimRight(line, "\n")
			switch {
			case strings.HasPrefix(line, "#"):
			case strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t"):
				fields[last] += " " + strings.TrimSpace(line)
			default:
				key, value, _ := strings.Cut(line, ":")
				last = strings.ToLower(strings.TrimSpace(key))
				fields[last] = strings.TrimSpace(value)
			}
		}
		if strings.EqualFold(fields["enabled"], "no") || !slices.Contains(strings.Fields(fields["types"]), "deb") {
			continue
		}
		signedBy := fields["signed-by"]
		if !strings.HasPrefix(signedBy, "/") {
			signedBy = "" // a key written into the file itself
			if fields["signed-by"] != "" {
				continue
			}
		}
		for _, uri := range strings.Fields(fields["uris"]) {
			for _, suite := range strings.Fields(fields["suites"]) {
				if c := strings.Fields(fields["components"]); len(c) > 0 {
					all = append(all, source{uri, suite, c, signedBy})
				}
			}
		}
	}
	return all
}

// suiteOf reads the code name from /etc/os-release.
func suiteOf(osRelease []byte) (string, error) {
	values := map[string]string{}
	for line := range strings.Lines(string(osRelease)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[key] = strings.Trim(value, `"'`)
		}
	}
	if values["ID"] != "debian" || values["VERSION_CODENAME"] == "" {
		return "", &sandbox.UnavailableError{
			Problem: fmt.Sprintf("the root tree of boxes is built from Debian packages, and this machine runs %q", values["PRETTY_NAME"]),
			Cure:    "copy a root tree (folder root-* and its .json file) from a Debian machine into " + System,
		}
	}
	return values["VERSION_CODENAME"], nil
}
