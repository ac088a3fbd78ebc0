package agent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// shown is text made safe for a model: valid UTF-8 without control bytes other
// than newline, tab and carriage return.
type shown struct {
	text    string
	cut     bool
	escaped bool // something is written as \xNN
}

// show renders bytes in at most budget bytes. total counts the bytes that there
// were, also those that raw no longer holds from its middle. What does not fit is
// left out in the middle, between whole characters, with a mark that counts it.
func show(raw []byte, total int64, budget int) shown {
	total = max(total, int64(len(raw)))
	if total == int64(len(raw)) {
		if head, used, escaped := showHead(raw, budget); used == len(raw) {
			return shown{text: head, escaped: escaped}
		}
	}
	if budget <= 2*markReserve {
		head, _, escaped := showHead(raw, budget)
		return shown{text: head, cut: true, escaped: escaped}
	}
	half := (budget - markReserve) / 2
	head, before, e1 := showHead(raw, half)
	tail, after, e2 := showTail(raw[before:], half)
	mark := fmt.Sprintf("\n[... %d bytes left out ...]\n", total-int64(before)-int64(after))
	return shown{text: head + mark + tail, cut: true, escaped: e1 || e2}
}

func showHead(raw []byte, budget int) (text string, used int, escaped bool) {
	var b strings.Builder
	for used < len(raw) {
		_, n := utf8.DecodeRune(raw[used:])
		unit, odd := showRune(raw[used : used+n])
		if b.Len()+len(unit) > budget {
			break
		}
		b.WriteString(unit)
		used += n
		escaped = escaped || odd
	}
	return b.String(), used, escaped
}

func showTail(raw []byte, budget int) (text string, used int, escaped bool) {
	var units []string
	size := 0
	for used < len(raw) {
		end := len(raw) - used
		_, n := utf8.DecodeLastRune(raw[:end])
		unit, odd := showRune(raw[end-n : end])
		if size+len(unit) > budget {
			break
		}
		units = append(units, unit)
		size += len(unit)
		used += n
		escaped = escaped || odd
	}
	slices.Reverse(units)
	return strings.Join(units, ""), used, escaped
}

// showRune shows the bytes of one rune, or one byte that is not UTF-8.
func showRune(raw []byte) (unit string, escaped bool) {
	r, n := utf8.DecodeRune(raw)
	switch {
	case r == '\n' || r == '\t' || r == '\r':
	case r == utf8.RuneError && n == 1, unicode.IsControl(r):
		var b strings.Builder
		for _, c := range raw {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
		return b.String(), true
	}
	return string(raw), false
}

// clip shortens model or box text that is repeated inside one of our sentences.
func clip(s string) string { return show([]byte(s), int64(len(s)), maxQuoted).text }

func quoted(s string) string { return fmt.Sprintf("%q", clip(s)) }

func tokens(n int64) string {
	if n == 1 {
		return "1 token"
	}
	return fmt.Sprintf("%d tokens", n)
}

// seconds writes a duration in seconds, to the millisecond.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Round(time.Millisecond).Seconds(), 'f', -1, 64) + " s"
}

// counted writes "1 call", "2 calls".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
