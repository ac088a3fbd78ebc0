package doctor

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// schema is that of WriteJSON's document.
const schema = 1

// Widths of the text, in runes.
const (
	textWidth  = 80
	foundAt    = 24 // where what was found begins
	cureIndent = "      -> "
	cureRest   = "         "
)

// WriteJSON writes {"schema":1,"checks":[…]}.
func WriteJSON(w io.Writer, checks []Check) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Schema int     `json:"schema"`
		Checks []Check `json:"checks"`
	}{schema, checks})
}

// WriteText writes one paragraph a check: state, name, what was found, and on
// lines of its own what mends it. No line is longer than 80 runes.
func WriteText(w io.Writer, checks []Check) error {
	b := bufio.NewWriter(w)
	for _, c := range checks {
		head := fmt.Sprintf("%-5s %-17s ", c.State, c.Name)
		for _, line := range wrap(c.Found, textWidth-foundAt) {
			fmt.Fprintln(b, strings.TrimRight(head+line, " "))
			head = strings.Repeat(" ", foundAt)
		}
		if c.Cure == "" {
			continue
		}
		indent := cureIndent
		for paragraph := range strings.SplitSeq(c.Cure, "\n") {
			for _, line := range wrap(paragraph, textWidth-len(cureRest)) {
				fmt.Fprintln(b, strings.TrimRight(indent+line, " "))
				indent = cureRest
			}
		}
	}
	return b.Flush()
}

// wrap breaks text at spaces, and words that alone are too long anywhere. It
// keeps leading spaces and gives one line at least.
func wrap(text string, width int) []string {
	var lines []string
	rest := []rune(text)
	for len(rest) > width {
		at := width
		for at > 0 && rest[at] != ' ' {
			at--
		}
		if strings.TrimSpace(string(rest[:at])) == "" {
			at = width
		}
		lines = append(lines, string(rest[:at]))
		rest = []rune(strings.TrimLeft(string(rest[at:]), " "))
	}
	return append(lines, string(rest))
}
