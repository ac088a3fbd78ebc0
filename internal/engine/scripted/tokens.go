package scripted

import (
	"hash/fnv"
	"unicode/utf8"
)

// tokenBytes is the size of a token of the scripted tokenizer: a token is as many
// whole characters as fit in it, and at least one.
const tokenBytes = 4

// vocabulary is the number of token ids that /tokenize gives.
const vocabulary = 32000

// nextToken returns the length in bytes of the first token of s; 0 for "".
func nextToken(s string) int {
	n := 0
	for n < len(s) {
		_, w := utf8.DecodeRuneInString(s[n:])
		if n > 0 && n+w > tokenBytes {
			break
		}
		n += w
	}
	return n
}

func tokenize(s string) []string {
	out := make([]string, 0, len(s)/tokenBytes+1)
	for s != "" {
		n := nextToken(s)
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

func countTokens(s string) int {
	count := 0
	for s != "" {
		s = s[nextToken(s):]
		count++
	}
	return count
}

// commonTokens counts the whole tokens of s that lie in its first n bytes.
func commonTokens(s string, n int) int {
	count, at := 0, 0
	for at < len(s) {
		at += nextToken(s[at:])
		if at > n {
			break
		}
		count++
	}
	return count
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// tokenID is a stable number for a token; two tokens may share one.
func tokenID(token string) int {
	h := fnv.New32a()
	h.Write([]byte(token))
	return int(h.Sum32() % vocabulary)
}
