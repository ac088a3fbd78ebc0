package report

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/text"
)

// Printable makes foreign text safe for a terminal: control characters and
// characters that change the direction or are invisible are escaped.
func Printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == unicode.ReplacementChar || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.In(r, unicode.Zl, unicode.Zp) {
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// label is an arm's name as a table shows it.
func label(name string) string {
	name = Printable(name)
	if text.StringWidthWithoutEscSequences(name) > nameWidth {
		return text.Trim(name, nameWidth-1) + "…"
	}
	return name
}

// wrap breaks a line at blanks to the report's width; rest starts every line but
// the first.
func wrap(s, rest string) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.SplitAfter(s, " ") {
		n := text.StringWidthWithoutEscSequences(strings.TrimRight(word, " "))
		if i > 0 && column+n > width {
			trimmed := strings.TrimRight(b.String(), " ")
			b.Reset()
			b.WriteString(trimmed + "\n" + rest)
			column = len(rest)
		}
		b.WriteString(word)
		column += text.StringWidthWithoutEscSequences(word)
	}
	return strings.TrimRight(b.String(), " ")
}

// number prints a figure with the digits given, or n/a.
func number(f *float64, digits int) string {
	if f == nil {
		return "n/a"
	}
	return strconv.FormatFloat(*f, 'f', digits, 64)
}

func whole(n *int64) string {
	if n == nil {
		return "n/a"
	}
	return strconv.FormatInt(*n, 10)
}

// short is the head of a digest.
func short(digest string) string {
	if len(digest) > 12 {
		return digest[:12]
	}
	return digest
}
