// Package setting has the kinds of values that the watcher's configuration file is made of, for the parts that bring a
// section of their own: lengths of time, and files that somebody replaces while the process runs.
package setting

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"
)

// Duration is a length of time written as in Go: "1s", "250ms".
type Duration time.Duration

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("want a duration such as \"1s\" or \"250ms\", got %s", KindOf(b))
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		if nearDuration().MatchString(s) {
			return fmt.Errorf("want a duration such as \"1s\" or \"250ms\", got %q", s)
		}
		return errors.New("want a duration such as \"1s\" or \"250ms\", got another string")
	}
	*d = Duration(v)
	return nil
}

// nearDuration matches a duration that is slightly wrong; other text may be a
// secret in the wrong place. Most starts need neither this nor harmless.
var nearDuration = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[-+]?[0-9.,]{1,19} ?[a-zA-Zµ]{0,8}$`)
})

// Std is the length of time as the standard library has it.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// Or is d, or what applies where it is not set.
func (d Duration) Or(unset time.Duration) time.Duration {
	if d == 0 {
		return unset
	}
	return d.Std()
}

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON implements json.Marshaler.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// harmless are values that may be printed where another type belongs: what is meant for a
// number or for true and false, with or without quotes. Anything else may be a secret in
// the wrong place.
var harmless = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^"?(?:[-+]?[0-9][0-9.,_]{0,18}|true|false|yes|no|on|off|)"?$`)
})

// KindOf is the value itself where that is harmless, else its type.
func KindOf(raw []byte) string {
	switch {
	case harmless().Match(raw):
		return string(raw)
	case raw[0] == '{':
		return "an object"
	case raw[0] == '[':
		return "a list"
	case raw[0] == '"':
		return "a string"
	}
	return "a number" // one of unusual length or form
}
