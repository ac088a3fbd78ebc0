package rootfs

import (
	"errors"
	"testing"
	"testing/fstest"

	"assay/internal/sandbox"

	"github.com/google/go-cmp/cmp"
)

const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

func TestDebianSources(t *testing.T) {
	t.Parallel()
	etc := fstest.MapFS{
		"sources.list": {Data: []byte(`# deb http://commented.example/debian bookworm main
deb-src http://a.example/debian bookworm main
deb [arch=amd64 signed-by=` + keyring + `] http://a.example/pub bookworm main contrib # note
deb http://b.example/debian/ bookworm-updates main
deb http://b.example/debian trixie main
deb http://c.example/vendor bookworm main
deb broken
deb [broken http://b.example/debian bookworm main
`)},
		"sources.list.d/debian.sources": {Data: []byte(`Types: deb deb-src
# a note
URIs: http://d.example/debian
 http://e.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: ` + keyring + `

Types: deb
URIs: http://d.example/debian-security
Suites: bookworm-security
Components: main

Enabled: no
Types: deb
URIs: http://f.example/debian
Suites: bookworm
Components: main
`)},
		"sources.list.d/vendor.sources":        {Data: []byte("Types: deb\nURIs: https://g.example/debian\nSuites: bookworm\nComponents: main\nSigned-By: /usr/share/keyrings/vendor.gpg\n")},
		"sources.list.d/inline.sources":        {Data: []byte("Types: deb\nURIs: https://h.example/debian\nSuites: bookworm\nComponents: main\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n")},
		"sources.list.d/off.sources.disabled":  {Data: []byte("Types: deb\nURIs: http://i.example/debian\nSuites: bookworm\nComponents: main\n")},
		"sources.list.d/again.list":            {Data: []byte("deb http://b.example/debian/ bookworm-updates main\n")},
		"sources.list.d/src-only.sources":      {Data: []byte("Types: deb-src\nURIs: http://j.example/debian\nSuites: bookworm\nComponents: main\n")},
		"sources.list.d/flat-repository.list":  {Data: []byte("deb http://k.example/debian ./\n")},
		"sources.list.d/no-components.sources": {Data: []byte("Types: deb\nURIs: http://l.example/debian\nSuites: bookworm\n")},
	}
	got, err := debianSources(etc, "bookworm")
	if err != nil {
		t.Fatal(err)
	}
	signed := "[signed-by=" + keyring + "] "
	want := []string{
		"deb " + signed + "http://a.example/pub bookworm main contrib",
		"deb http://b.example/debian/ bookworm-updates main",
		"deb " + signed + "http://d.example/debian bookworm main",
		"deb " + signed + "http://d.example/debian bookworm-updates main",
		"deb " + signed + "http://e.example/debian bookworm main",
		"deb " + signed + "http://e.example/debian bookworm-updates main",
		"deb http://d.example/debian-security bookworm-security main",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var u *sandbox.UnavailableError
	if _, err := debianSources(etc, "sid"); !errors.As(err, &u) || u.Cure == "" {
		t.Errorf("no source: %v", err)
	}
}

func TestSuiteOf(t *testing.T) {
	t.Parallel()
	if got, err := suiteOf([]byte("ID=debian\nVERSION_CODENAME=bookworm\nPRETTY_NAME=\"Debian\"\n")); err != nil || got != "bookworm" {
		t.Errorf("%q %v", got, err)
	}
	var u *sandbox.UnavailableError
	for _, text := range []string{"", "ID=fedora\nPRETTY_NAME='Fedora'\n", "ID=debian\n"} {
		if _, err := suiteOf([]byte(text)); !errors.As(err, &u) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzSources(f *testing.F) {
	f.Add([]byte("deb [signed-by=/x] http://a/debian s c\n"))
	f.Add([]byte("Types: deb\nURIs: http://a/debian\n b\nSuites: s\nComponents: c\n\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, s := range append(parseList(text), parseDeb822(text)...) {
			if s.uri == "" || s.suite == "" || len(s.components) == 0 {
				t.Errorf("incomplete source %+v", s)
			}
		}
	})
}
