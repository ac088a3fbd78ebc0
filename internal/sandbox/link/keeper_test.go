package link

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestKeeperKeepsAllThatFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 40)).Draw(t, "parts")
		all := bytes.Join(parts, nil)
		k := keeper{most: int64(len(all)) + rapid.Int64Range(0, 10).Draw(t, "room")}
		for _, p := range parts {
			if n, err := k.Write(p); n != len(p) || err != nil {
				t.Fatal(n, err)
			}
		}
		if !bytes.Equal(all, k.bytes()) {
			t.Errorf("%q was kept of %q", k.bytes(), all)
		}
	})
}

func TestKeeperKeepsHeadAndTail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Int64Range(100, 300).Draw(t, "most")
		total := int(most) + rapid.IntRange(1, 5000).Draw(t, "over")
		all := make([]byte, total)
		for i := range all {
			all[i] = byte('a' + i%23)
		}
		k := keeper{most: most}
		for rest := all; len(rest) > 0; {
			n := min(rapid.IntRange(1, 700).Draw(t, "chunk"), len(rest))
			_, _ = k.Write(rest[:n])
			rest = rest[n:]
		}
		got := string(k.bytes())
		head, rest, ok := strings.Cut(got, "\n[… ")
		mark, tail, ok2 := strings.Cut(rest, " …]\n")
		var missing int
		if _, err := fmt.Sscanf(mark, "%d bytes left out", &missing); err != nil || !ok || !ok2 {
			t.Fatalf("no mark in %q", got)
		}
		if int64(len(got)) > most || len(head)+len(tail)+missing != total ||
			!strings.HasPrefix(string(all), head) || !strings.HasSuffix(string(all), tail) || len(tail) == 0 {
			t.Errorf("%d of %d bytes, at most %d: %q", len(got), total, most, got)
		}
	})
}
