package pack

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
)

// TestFewDictionaries: texts that are never alike do not get one dictionary after the
// other, each kept by the few texts that stay.
func TestFewDictionaries(t *testing.T) {
	const texts = 40_000
	var p Packer
	rng := rand.New(rand.NewPCG(1, 2))
	alike := strings.Repeat("all of them have this ", 50)
	seen := map[*s2.Dict]int{}
	for i := range texts {
		noise := make([]byte, 1000)
		for k := range noise {
			noise[k] = byte('A' + rng.IntN(26))
		}
		text, plain := p.Pack(func(dst []byte) []byte { return fmt.Appendf(dst, "%d %s %s", i, noise, alike) })
		if text.IsZero() || plain != nil {
			t.Fatalf("text %d was not packed", i)
		}
		if text.dict != nil {
			seen[text.dict]++
		}
	}
	// 1000, 2000, 4000, 8000 and 16,000 texts, and a part of 32,000.
	if len(seen) < 2 || len(seen) > 6 {
		t.Errorf("%d dictionaries for %d texts, want 2 to 6", len(seen), texts)
	}
}

// TestIncompressible: what would not become smaller comes back as it was, in memory of its own.
func TestIncompressible(t *testing.T) {
	var p Packer
	text, plain := p.Pack(func(dst []byte) []byte { return append(dst, "xy"...) })
	_, _ = p.Pack(func(dst []byte) []byte { return append(dst, "zz"...) })
	if !text.IsZero() || string(plain) != "xy" {
		t.Errorf("%q, packed: %t", plain, !text.IsZero())
	}
}
