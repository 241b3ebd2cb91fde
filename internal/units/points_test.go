package units

import (
	"strings"
	"testing"
)

func TestRange(t *testing.T) {
	for _, tc := range []struct {
		q          Quantity
		text, want string // or what the error begins with
	}{
		{WholeNumbers, "1..256 *2", "1 2 4 8 16 32 64 128 256"},
		{WholeNumbers, " 10 .. 60 + 10 ", "10 20 30 40 50 60"},
		{WholeNumbers, "1..100 *2", "1 2 4 8 16 32 64"},
		{WholeNumbers, "10..65 +20", "10 30 50"},
		{WholeNumbers, "1..8 *1.5", "1 2 3 5 8"},
		{WholeNumbers, "1..3 *1.5", "1 2"}, // and not 3.375
		{WholeNumbers, "7..7 *2", "7"},
		{WholeNumbers, "0..2 +1", "0 1 2"},
		{WholeNumbers, "9007199254740990..9007199254740991 +1", "9007199254740990 9007199254740991"},
		{Sizes, "64KiB..1MiB *4", "64KiB 256KiB 1MiB"},
		{Durations, "10ms..80ms *2", "10ms 20ms 40ms 80ms"},
		{Shares, "0.1%..1% +0.1%", "0.1% 0.2% 0.3% 0.4% 0.5% 0.6% 0.7% 0.8% 0.9% 1%"},
		{Numbers, "9e15..9e15 +0.0001", "9000000000000000"}, // where the step is lost
		{Speeds, "1x..8x *2", "1x 2x 4x 8x"},
		{Numbers, "0.1..0.5 +0.1", "0.1 0.2 0.3 0.4 0.5"},
		{Numbers, "0..0.9999999995 +1", "0 0.9999999995"}, // never above the end

		{WholeNumbers, "1..256", "the range 1..256 does not say how it steps; write 1..256 *2 or 1..256 +10"},
		{Durations, "1s..2s", "the range 1s..2s does not say how it steps; write 1s..2s *2 or 1s..2s +10ms"},
		{WholeNumbers, "0..8", "the range 0..8 does not say how it steps; write 0..8 +10"},
		{WholeNumbers, "1...5", `".5" is not a whole number from 0; `},
		{WholeNumbers, "a..b", `"a" is not a whole number from 0; `},
		{WholeNumbers, "8..1 *2", "the range 8..1 *2 ends before it begins; write 1..8 *2"},
		{WholeNumbers, "1..8 *1", "the range 1..8 *1 does not move by *1; step by more, for example 1..8 *2"},
		{WholeNumbers, "0..8 *2", "the range 0..8 *2 stays at 0 whatever it is multiplied by; begin above, or write a step such as +10"},
		{WholeNumbers, "1..1000 +1", "the range 1..1000 +1 has 1000 points, at most 50 are run; use a larger step"},
		{WholeNumbers, "1..8 *x", `"x" is not a factor; write a number, for example *2`},
		{Sizes, "64..1MiB *4", `"64" is not a size; `},
		{Durations, "1s..9 *4", `"9" is not a duration; `},
		{Durations, "1h..2000000h *4", "the range 1h..2000000h *4 is out of range; end below 2501h59m59.254740992s"},
		{Shares, "50%..150% +10%", `"150%" is not a share; `},
		{Speeds, "1x..unlimited *2", "the range 1x..unlimited *2 is out of range; end below "},
		{Speeds, "unlimited..unlimited *2", "the range unlimited..unlimited *2 is out of range"},
	} {
		values, err := tc.q.Range(tc.text, 50)
		got := strings.Join(values, " ")
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != tc.want || !strings.HasPrefix(got, tc.want) || tc.want == "" {
			t.Errorf("%q:\n got %s\nwant %s", tc.text, got, tc.want)
		}
	}
}

// FuzzRange: no text panics or takes for ever, and what is taken are at most so many values,
// which the quantity reads, in rising order and within the range.
func FuzzRange(f *testing.F) {
	for _, text := range []string{"1..256 *2", "10..60 +10", "64KiB..1MiB *4", "1s..2m *1.1", "0%..1% +0.01%", "1x..unlimited *2", "..", "1..1e308 *1.0001", "0..0 +1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const most = 60
		for i, q := range []Quantity{WholeNumbers, Numbers, Durations, Sizes, Shares, Speeds} {
			values, err := q.Range(text, most)
			if err != nil {
				if strings.TrimSpace(err.Error()) == "" {
					t.Error("an error without words")
				}
				continue
			}
			if len(values) == 0 || len(values) > most {
				t.Errorf("quantity %d: %q has %d values", i, text, len(values))
			}
			last := -1.0
			for _, s := range values {
				v, ok := q.Value(s)
				if !ok || v <= last {
					t.Errorf("quantity %d: %q: %q after %v: %v, %v", i, text, s, last, v, ok)
				}
				last = v
			}
		}
	})
}
