package dist

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/invopop/jsonschema"
)

// value is shared by all kinds. The zero value means none.
type value struct {
	text string
	law  law
}

// IsZero reports that nothing was given.
func (v value) IsZero() bool { return v.law == nil }

// MarshalText is the text that the value was read from.
func (v value) MarshalText() ([]byte, error) { return []byte(v.text), nil }

func (v value) String() string { return v.text }

// Equal reports whether both were read from the same text.
func (v value) Equal(other fmt.Stringer) bool { return v.text == other.String() }

func (v *value) read(text string, k kind) error {
	law, err := parse(text, k)
	if err != nil {
		return err
	}
	*v = value{text, law}
	return nil
}

// JSONSchema describes the text form.
func (v value) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} }

// Duration is a distribution of lengths of time.
type Duration struct{ value }

// Size is a distribution of numbers of bytes.
type Size struct{ value }

// Number is a distribution of plain numbers.
type Number struct{ value }

// UnmarshalText reads a distribution whose values have units of time. The error says in one line what would be right.
func (d *Duration) UnmarshalText(text []byte) error { return d.read(string(text), durations) }

// UnmarshalText reads a distribution whose values have units of bytes.
func (s *Size) UnmarshalText(text []byte) error { return s.read(string(text), sizes) }

// UnmarshalText reads a distribution of values without unit.
func (n *Number) UnmarshalText(text []byte) error { return n.read(string(text), numbers) }

// Draw is one value, to the microsecond.
func (d Duration) Draw(r *rand.Rand) time.Duration { return fromSeconds(d.law.draw(Source{Rand: r})) }

// Mean is at most the longest time.Duration.
func (d Duration) Mean() time.Duration { return fromSeconds(d.law.mean()) }

// Draw is one value, in bytes.
func (s Size) Draw(r *rand.Rand) int { return int(math.Round(min(s.law.draw(Source{Rand: r}), most))) }

// Whole is one value, rounded.
func (n Number) Whole(r *rand.Rand) int {
	return int(math.Round(min(n.law.draw(Source{Rand: r}), most)))
}

// Mean is the mean before rounding by Whole.
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

// Must reads a text that the program itself contains, or panics.
func Must[T any, P interface {
	*T
	UnmarshalText([]byte) error
}](text string) (v T) {
	if err := P(&v).UnmarshalText([]byte(text)); err != nil {
		panic(fmt.Sprintf("dist: %v", err))
	}
	return v
}

// JSONSchema describes the text form; YAML may read a plain number as one.
func (n Number) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{n.value.JSONSchema(), {Type: "number"}}}
}

// MaxLatency bounds every duration of a latency: an hour is past any timeout.
const MaxLatency = time.Hour

// Latency is a distribution of service times. Draws are made by one goroutine at a time: slow periods keep state.
type Latency struct{ value }

// UnmarshalText reads one.
func (l *Latency) UnmarshalText(text []byte) error { return l.read(string(text), latencies) }

// Fixed reports whether all draws are the mean.
func (l Latency) Fixed() bool { _, ok := l.law.(constant); return ok }

// Draw is one value, to the nanosecond.
func (l Latency) Draw(s Source) time.Duration { return nanoseconds(l.law.draw(s)) }

// Mean is over a long time.
func (l Latency) Mean() time.Duration { return nanoseconds(l.law.mean()) }

// Share is the part of draws of at most so many nanoseconds, over a long time.
func (l Latency) Share(ns float64) float64 { return min(max(0, l.law.share(ns/1e9)), 1) }

// nanoseconds rounds, and keeps absurd values within the bound.
func nanoseconds(seconds float64) time.Duration {
	return time.Duration(min(math.Round(seconds*1e9), float64(MaxLatency)))
}
