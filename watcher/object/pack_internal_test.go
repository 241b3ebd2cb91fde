package object

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
)

// TestFewDictionaries: objects that are never alike do not get one dictionary after the
// other, each kept by the few objects that stay.
func TestFewDictionaries(t *testing.T) {
	const objects = 40_000
	r := Recipe{Packer: &Packer{}}
	rng := rand.New(rand.NewPCG(1, 2))
	alike := strings.Repeat("all of them have this ", 50)
	seen := map[*s2.Dict]int{}
	for i := range objects {
		noise := make([]byte, 1000)
		for k := range noise {
			noise[k] = byte('A' + rng.IntN(26))
		}
		raw := fmt.Appendf(nil, `{"metadata":{"name":"n%d"},"x":%q,"y":%q}`, i, noise, alike)
		m, err := Scan(raw)
		if err != nil {
			t.Fatal(err)
		}
		o, err := r.Build(raw, &m, "Pod", nil)
		if err != nil {
			t.Fatal(err)
		}
		if o.dict != nil {
			seen[o.dict]++
		}
	}
	// 1000, 2000, 4000, 8000 and 16,000 objects, and a part of 32,000.
	if len(seen) < 2 || len(seen) > 6 {
		t.Errorf("%d dictionaries for %d objects, want 2 to 6", len(seen), objects)
	}
}
