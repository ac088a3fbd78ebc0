package results

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
)

// Keys come from the environment, never from a study file. Where a study has one
// all the same, these keep it out of what an arm's row declares.

const hidden = "***"

// withoutUser drops user and password of a URL.
func withoutUser(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.User == nil {
		return raw
	}
	u.User = nil
	return u.String()
}

var keyFlag = regexp.MustCompile(`(--?(?:api-key|api_key|hf-token|hft))([ =]+)("[^"]*"|'[^']*'|\S+)`)

// withoutKeys hides the value of flags of model servers that take a key.
func withoutKeys(command string) string {
	return keyFlag.ReplaceAllString(command, "${1}${2}"+hidden)
}

// withoutSecrets hides the value of fields whose name says that it is a key.
func withoutSecrets(body map[string]json.RawMessage) map[string]json.RawMessage {
	if body == nil {
		return nil
	}
	out := make(map[string]json.RawMessage, len(body))
	for name, value := range body {
		switch strings.ToLower(strings.ReplaceAll(name, "-", "_")) {
		case "api_key", "apikey", "authorization", "password", "secret", "token", "access_token":
			value = json.RawMessage(`"` + hidden + `"`)
		}
		out[name] = value
	}
	return out
}
