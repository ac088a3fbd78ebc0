package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/shlex"
)

// maxDepth bounds speculation depth: the deepest drafts in use are a third of it.
const maxDepth = 64

// server is the [server] table.
type server struct {
	present     bool // a command is given, sound or not
	command     string
	commandNode *node // nil: none, or a faulty one
	mtp         *int
	mtpNode     *node
}

func (l *loader) server(c section) server {
	var srv server
	srv.present = c.get("command") != nil
	srv.command, srv.commandNode = c.optionalString("command")
	if srv.commandNode != nil {
		l.checkCommand(c, srv.commandNode)
		if !strings.Contains(srv.command, "{model}") {
			c.faultAt(srv.commandNode, "command", "has no {model}, so every arm would run the same one")
		}
		c.setting("command", srv.command, l.at(srv.commandNode))
	}
	if n := c.get("mtp"); n != nil && c.whole("mtp", n, 0, maxDepth) {
		depth := int(n.num)
		srv.mtp, srv.mtpNode = &depth, n
		if depth > 0 && srv.commandNode != nil && !hasSpec(srv.command) {
			c.faultAt(n, "mtp", "has no effect: the command has no {spec}")
		}
		c.setting("mtp", strconv.Itoa(depth), l.at(n))
	}
	return srv
}

func hasSpec(command string) bool { return strings.Contains(command, "{spec}") }

// checkCommand lists what is wrong with a command line: words that do not end,
// places that assay cannot fill, no port, a key in plain sight.
func (l *loader) checkCommand(c section, n *node) {
	argv, err := shlex.Split(n.str)
	switch {
	case err != nil:
		c.faultAt(n, "command", "has a quote that is not closed")
	case len(argv) == 0:
		c.faultAt(n, "command", "has no words")
	case strings.ContainsRune(n.str, 0):
		c.faultAt(n, "command", "has a zero byte")
	}
	filled := []string{"{model}", "{port}", "{spec}"}
	for _, place := range regexp.MustCompile(`\{[A-Za-z_]+\}`).FindAllString(n.str, -1) {
		if !slices.Contains(filled, place) {
			c.faultAt(n, "command", fmt.Sprintf("has %s; only %s are filled", cut(place), strings.Join(filled, ", ")))
		}
	}
	if !strings.Contains(n.str, "{port}") {
		c.faultAt(n, "command", "has no {port}; assay gives every server a free one")
	}
	for _, arg := range argv {
		if arg == "--api-key" || strings.HasPrefix(arg, "--api-key=") {
			c.faultAt(n, "command", "holds an API key, and the study file is kept in the database; use the server's key file or environment variable, and key_env")
		}
	}
}

// depths makes one arm per depth of an mtp list, and settles the depth of an
// arm that has a number or inherits one.
func (l *loader) depths(a Arm, c section, srv server) []Arm {
	n := c.get("mtp")
	if n == nil {
		if srv.mtp != nil && hasSpec(a.Command) {
			depth := *srv.mtp
			a.MTP = &depth
			c.setting("mtp", strconv.Itoa(depth), "inherited from [server], "+l.at(srv.mtpNode))
		} else if hasSpec(a.Command) {
			zero := 0
			a.MTP = &zero
			c.setting("mtp", "0", byDefault)
		}
		return []Arm{a}
	}
	if n.kind != kindList {
		if !c.whole("mtp", n, 0, maxDepth) {
			return []Arm{a}
		}
		depth := int(n.num)
		a.MTP = &depth
		if depth > 0 && a.Command != "" && !hasSpec(a.Command) {
			c.faultAt(n, "mtp", "has no effect: the command has no {spec}")
		}
		c.setting("mtp", strconv.Itoa(depth), l.at(n))
		return []Arm{a}
	}
	switch {
	case a.URL != "":
		c.faultAt(n, "mtp", "is a list, but a running server has one depth; write one [[arm]] per server")
		return []Arm{a}
	case len(n.items) == 0:
		c.faultAt(n, "mtp", "is an empty list; 0 turns speculation off")
		return []Arm{a}
	case a.Command != "" && !hasSpec(a.Command):
		c.faultAt(n, "mtp", "has no effect: the command has no {spec}")
	}
	var arms []Arm
	var seen []int
	for _, item := range n.items {
		if !c.whole("mtp", item, 0, maxDepth) {
			continue
		}
		depth := int(item.num)
		if slices.Contains(seen, depth) {
			c.faultAt(item, "mtp", fmt.Sprintf("depth %d is listed twice", depth))
			continue
		}
		seen = append(seen, depth)
		one := a
		one.MTP = &depth
		one.Name = fmt.Sprintf("%s-mtp%d", a.Name, depth)
		if a.Name == "" {
			one.Name = ""
		}
		arms = append(arms, one)
	}
	c.setting("mtp", joinInts(seen)+" (one arm per depth: "+a.Name+"-mtpN)", l.at(n))
	return arms
}
