package spec

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
)

// Moment is a time, or a range from which one is drawn.
type Moment struct{ From, To time.Duration }

// UnmarshalText reads 2s or 2s..5s.
func (m *Moment) UnmarshalText(text []byte) error {
	from, to, ranged := strings.Cut(string(text), "..")
	var a, b Duration
	if err := a.UnmarshalText([]byte(from)); err != nil {
		return err
	}
	if b = a; ranged {
		if err := b.UnmarshalText([]byte(to)); err != nil {
			return err
		}
	}
	if b < a {
		return fmt.Errorf("%q ends before it begins; write the earlier time first, for example 2s..5s", text)
	}
	*m = Moment{a.Std(), b.Std()}
	return nil
}

// MarshalText writes what UnmarshalText reads.
func (m Moment) MarshalText() ([]byte, error) {
	if m.From == m.To {
		return Duration(m.From).MarshalText()
	}
	return []byte(Duration(m.From).String() + ".." + Duration(m.To).String()), nil
}

// IsZero is for omitzero.
func (m Moment) IsZero() bool { return m == Moment{} }

// Draw takes a moment of the range.
func (m Moment) Draw(rng *rand.Rand) time.Duration {
	if m.To <= m.From {
		return m.From
	}
	return m.From + time.Duration(rng.Int64N(int64(m.To-m.From)+1))
}

// JSONSchema describes both forms.
func (Moment) JSONSchema() *jsonschema.Schema {
	const one = `([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+`
	return &jsonschema.Schema{Type: "string", Pattern: `^` + one + `(\.\.` + one + `)?$`, Examples: []any{"2s", "2s..5s"}}
}
