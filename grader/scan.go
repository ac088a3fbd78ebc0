package grader

import (
	"fmt"
	"slices"
)

// maxDepth is the nesting of arrays and objects in one frame. The kit's values
// nest 64 deep, each level up to three here.
const maxDepth = 256

// scan looks over a frame without decoding it: printable ASCII without escapes in
// its keys, an object that nests at most maxDepth deep, integers of at most 17
// characters, and no key twice at the top. It returns those keys. That the frame
// is JSON at all is left to the decoder.
func scan(b []byte) ([]string, error) {
	var keys []string
	depth, inString, start := 0, false, 0
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch {
		case c < 0x20 || c > 0x7e:
			return nil, fmt.Errorf("%w: byte %#02x at %d of a frame", errBadFrame, c, i)
		case inString:
			switch c {
			case '\\':
				i++
				if i < len(b) && (b[i] < 0x20 || b[i] > 0x7e) {
					return nil, fmt.Errorf("%w: byte %#02x at %d of a frame", errBadFrame, b[i], i)
				}
			case '"':
				inString = false
				if depth == 1 && i+1 < len(b) && b[i+1] == ':' {
					key := string(b[start:i])
					if !plainKey(key) || slices.Contains(keys, key) {
						return nil, fmt.Errorf("%w: key %.40q is odd or occurs twice", errBadFrame, key)
					}
					keys = append(keys, key)
				}
			}
		case c == '"':
			inString, start = true, i+1
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return nil, fmt.Errorf("%w: a frame nests deeper than %d", errBadFrame, maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		case c == ' ':
			return nil, fmt.Errorf("%w: blank at %d of a frame", errBadFrame, i)
		case c == '-' || c >= '0' && c <= '9':
			end := i + 1
			for end < len(b) && b[end] >= '0' && b[end] <= '9' {
				end++
			}
			if end-i > 17 || end < len(b) && (b[end] == '.' || b[end] == 'e' || b[end] == 'E') {
				return nil, fmt.Errorf("%w: number at %d of a frame is no small integer", errBadFrame, i)
			}
			i = end - 1
		}
	}
	if len(b) == 0 || b[0] != '{' {
		return nil, fmt.Errorf("%w: a frame is no object", errBadFrame)
	}
	return keys, nil
}

// plainKey holds for lower case letters and underscores: the decoder folds case,
// which would let another spelling of a key pass.
func plainKey(key string) bool {
	for _, c := range key {
		if (c < 'a' || c > 'z') && c != '_' {
			return false
		}
	}
	return key != ""
}
