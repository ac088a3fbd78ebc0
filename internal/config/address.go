package config

import (
	"net/url"
	"strconv"
	"strings"
)

const maxURLBytes = 2048

// address reads where an arm's server is, or how it is started.
func (l *loader) address(a *Arm, c section, srv server) {
	addr, urlNode := c.optionalString("url")
	command, commandNode := c.optionalString("command")
	if urlNode != nil && commandNode != nil {
		c.faultAt(commandNode, "command", "stands beside url on line "+strconv.Itoa(urlNode.line)+
			": an arm has one of them, a running server or one that assay starts")
	}
	switch {
	case urlNode != nil:
		if why := badURL(addr); why != "" {
			c.faultAt(urlNode, "url", why)
		}
		a.URL = addr
		c.setting("url", addr, l.at(urlNode))
	case commandNode != nil:
		l.checkCommand(c, commandNode)
		a.Command = command
		c.setting("command", command, l.at(commandNode))
	case c.get("url") != nil || c.get("command") != nil: // their faults are listed
	case srv.present:
		if a.Model == "" && c.get("model") == nil {
			l.fault(c.line, c.label, "model", "missing; an arm that inherits the command of [server] needs one")
		}
		a.Command = srv.command
		if srv.commandNode != nil {
			c.setting("command", srv.command, "inherited from [server], "+l.at(srv.commandNode))
		}
	default:
		l.fault(c.line, c.label, "", "has neither url nor command, and there is no [server] command to inherit")
	}
}

// badURL says why a text is not the base URL of a server, or "". It repeats
// nothing of the text: there may be a key in it.
func badURL(s string) string {
	if len(s) > maxURLBytes {
		return "must have at most " + strconv.Itoa(maxURLBytes) + " bytes"
	}
	u, err := url.Parse(s)
	if err != nil || strings.TrimSpace(s) != s {
		return "is not a URL; write http://HOST:PORT"
	}
	port := u.Port()
	switch {
	case u.User != nil:
		return "must not hold a user or password; name the variable that holds the key in key_env"
	case u.Scheme != "http" && u.Scheme != "https":
		return "must begin with http:// or https://"
	case u.Hostname() == "":
		return "has no host; write http://HOST:PORT"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(s, "#"):
		return "must not have a query or fragment; a key belongs in key_env, request fields in extra_body"
	case strings.HasSuffix(u.Host, ":"):
		return "has no port after the colon"
	}
	if n, err := strconv.Atoi(port); port != "" && (err != nil || n < 1 || n > 65535) {
		return "has a port outside 1 to 65535"
	}
	return ""
}
