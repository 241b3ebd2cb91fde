package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestEveryAlterationIsNoticed alters what is published of a cell leaf by leaf, a number in
// its last digit, and sees that the oracle disagrees each time. A leaf that is taken away
// must be missed too.
func TestEveryAlterationIsNoticed(t *testing.T) {
	noticed, free := 0, 0
	for _, dir := range saved(t, asked()) {
		for _, c := range cells(t, dir) {
			r := load(t, c.dir)
			want := compute(t, r)
			leaves := map[string]any{}
			flatten(leaves, "", c.published)
			for _, path := range slices.Sorted(maps.Keys(leaves)) {
				if r.free(path) {
					free++
					continue
				}
				v := leaves[path]
				for _, other := range alterations(v, want[path]) {
					if differs(r, want, path, other, true) == "" {
						t.Errorf("%s: %s was altered from %v to %v, and nobody noticed", c.dir, path, v, other)
					}
					noticed++
				}
				if _, may := want[path].(optional); !may && differs(r, want, path, nil, false) == "" {
					t.Errorf("%s: %s was taken away, and nobody noticed", c.dir, path)
				}
			}
		}
	}
	if noticed < 1000 {
		t.Errorf("only %d alterations were tried", noticed)
	}
	t.Logf("%d alterations noticed; %d leaves are not compared", noticed, free)
}

// alterations of a published leaf. Where the definition leaves room they are outside of it.
func alterations(v, want any) []any {
	switch v := v.(type) {
	case float64:
		// Five in the last digit that is published, as ties may be rounded up or down and
		// drains may be a microsecond apart.
		digits, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
		_, fraction, _ := strings.Cut(digits, ".")
		e, err := strconv.Atoi(exponent)
		if err != nil {
			panic(err)
		}
		step, err := strconv.ParseFloat(fmt.Sprintf("5e%d", e-len(fraction)), 64)
		if err != nil {
			panic(err)
		}
		if w, ok := want.(within); ok {
			step = max(step, 5*w.room)
		}
		return []any{six(v + step), six(v - step)}
	case bool:
		return []any{!v}
	case string:
		var out []any
		for _, word := range []string{"pass", "fail", "fail-allowed", "no-power", "not-judged"} {
			if word != v {
				out = append(out, word)
			}
		}
		return out
	}
	panic(fmt.Sprintf("%v of type %T", v, v))
}
