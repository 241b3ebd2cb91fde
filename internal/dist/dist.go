package dist

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/invopop/jsonschema"
)

// law is one distribution over numbers from 0: seconds, bytes, or plain.
type law interface {
	draw(Source) float64
	mean() float64           // may be infinite
	share(v float64) float64 // of draws of at most v; outside of 0 to 1 where v is out of range
}

// quantiler is a law that can be drawn by its inverse distribution function.
type quantiler interface {
	quantile(u float64) float64 // 0 <= u < 1
}

// value is what the three kinds share. The zero value stands for none.
type value struct {
	text string
	law  law
}

// IsZero reports that nothing was given.
func (v value) IsZero() bool { return v.law == nil }

// MarshalText is the text that the value was read from.
func (v value) MarshalText() ([]byte, error) { return []byte(v.text), nil }

func (v value) String() string { return v.text }

func (v *value) read(text string, k kind) error {
	law, err := parse(text, k)
	if err != nil {
		return err
	}
	*v = value{text, law}
	return nil
}

// Duration is a distribution of lengths of time.
type Duration struct{ value }

// Size is a distribution of numbers of bytes.
type Size struct{ value }

// Number is a distribution of plain numbers.
type Number struct{ value }

// UnmarshalText reads a distribution whose values have units of time. The error says in
// one line what would be right.
func (d *Duration) UnmarshalText(text []byte) error { return d.read(string(text), durations) }

// UnmarshalText reads a distribution whose values have units of bytes.
func (s *Size) UnmarshalText(text []byte) error { return s.read(string(text), sizes) }

// UnmarshalText reads a distribution of values without unit.
func (n *Number) UnmarshalText(text []byte) error { return n.read(string(text), numbers) }

// Draw is one value, to the microsecond.
func (d Duration) Draw(r *rand.Rand) time.Duration { return fromSeconds(d.law.draw(Source{Rand: r})) }

// Mean may be up to the longest time.Duration, where the mean is infinite.
func (d Duration) Mean() time.Duration { return fromSeconds(d.law.mean()) }

// Draw is one value, in bytes.
func (s Size) Draw(r *rand.Rand) int { return int(math.Round(min(s.law.draw(Source{Rand: r}), most))) }

// Mean is in bytes.
func (s Size) Mean() float64 { return s.law.mean() }

// Draw is one value.
func (n Number) Draw(r *rand.Rand) float64 { return n.law.draw(Source{Rand: r}) }

// Whole is one value, rounded.
func (n Number) Whole(r *rand.Rand) int {
	return int(math.Round(min(n.law.draw(Source{Rand: r}), most)))
}

// Mean may be infinite.
func (n Number) Mean() float64 { return n.law.mean() }

// most bounds what is drawn: a petabyte, or thousands of years.
const most = 1e15

func fromSeconds(s float64) time.Duration {
	const longest = math.MaxInt64 / int64(time.Microsecond) // in microseconds
	us := math.Round(s * 1e6)
	if !(us < float64(longest)) {
		return time.Duration(longest) * time.Microsecond
	}
	return time.Duration(us) * time.Microsecond
}

// Equal reports whether both were read from the same text.
func (d Duration) Equal(e Duration) bool { return d.text == e.text }

// Equal reports whether both were read from the same text.
func (s Size) Equal(e Size) bool { return s.text == e.text }

// Equal reports whether both were read from the same text.
func (n Number) Equal(e Number) bool { return n.text == e.text }

// MustDuration reads a text that the program itself contains, or panics.
func MustDuration(text string) (d Duration) { must(d.UnmarshalText([]byte(text))); return d }

// MustSize reads a size or panics.
func MustSize(text string) (s Size) { must(s.UnmarshalText([]byte(text))); return s }

// MustNumber reads a number or panics.
func MustNumber(text string) (n Number) { must(n.UnmarshalText([]byte(text))); return n }

func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("dist: %v", err))
	}
}

// JSONSchema describes the text form.
func (Duration) JSONSchema() *jsonschema.Schema { return schema("LN(1s,0.5) clip 0s..30s") }

// JSONSchema describes the text form.
func (Size) JSONSchema() *jsonschema.Schema { return schema("LN(12KB,0.5) clip 3KB..60KB") }

// JSONSchema describes the text form; YAML may read a plain number as one.
func (Number) JSONSchema() *jsonschema.Schema {
	s := schema("bins(5=80,30=15,250=5)")
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{s, {Type: "number"}}}
}

func schema(example string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Examples: []any{example}}
}
