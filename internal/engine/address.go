package engine

import (
	"net/url"
	"strings"
)

// address is where a server listens: root for its own endpoints (/props), api
// for the OpenAI-compatible ones (ending in /v1).
type address struct {
	root, api string
}

// parseAddress accepts a base URL with or without /v1. The message is empty where
// the URL is good.
func parseAddress(raw string) (a address, message string) {
	u, err := url.Parse(strings.TrimSpace(raw))
	switch {
	case raw == "":
		return a, "missing: the base URL of a running server is needed"
	case err != nil:
		// The parser's error repeats the URL, which may hold a password.
		return a, "not a URL"
	case u.Scheme != "http" && u.Scheme != "https":
		return a, "must begin with http:// or https://"
	case u.Host == "" || u.Hostname() == "":
		return a, "names no host"
	case u.User != nil:
		return a, "holds credentials: put the key into an environment variable and name it in key_env"
	case u.RawQuery != "" || u.Fragment != "":
		return a, "must be a base URL, without query and fragment"
	}
	path := strings.TrimRight(u.Path, "/")
	path = strings.TrimSuffix(path, "/chat/completions")
	path = strings.TrimRight(strings.TrimSuffix(path, "/v1"), "/")
	base := u.Scheme + "://" + u.Host + path
	return address{root: base, api: base + "/v1"}, ""
}
