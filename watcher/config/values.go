package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Duration is a length of time written as in Go: "1s", "250ms".
type Duration time.Duration

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("want a duration such as \"1s\" or \"250ms\", got %s", kindOf(b))
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		if nearDuration.MatchString(s) {
			return fmt.Errorf("want a duration such as \"1s\" or \"250ms\", got %q", s)
		}
		return errors.New("want a duration such as \"1s\" or \"250ms\", got another string")
	}
	*d = Duration(v)
	return nil
}

// nearDuration is what a duration that is slightly wrong looks like; other text may be a
// secret in the wrong place.
var nearDuration = regexp.MustCompile(`^[-+]?[0-9.,]{1,19} ?[a-zA-Zµ]{0,8}$`)

// MarshalJSON implements json.Marshaler.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// List is a comma-separated list in one string.
type List []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *List) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("want one string with commas between the elements, got %s", kindOf(b))
	}
	*l = nil
	if strings.TrimSpace(s) == "" {
		return nil
	}
	for e := range strings.SplitSeq(s, ",") {
		*l = append(*l, strings.TrimSpace(e))
	}
	return nil
}

// normalise leaves out what is empty or stands twice, and slashes at the end of addresses,
// and says what it left out.
func (l *List) normalise(say func(why string)) {
	var kept List
	for _, e := range *l {
		switch e = strings.TrimRight(e, "/"); {
		case e == "":
			say("an element is empty, it is left out")
		case slices.Contains(kept, e):
			say(fmt.Sprintf("%q stands twice, once is taken", e))
		default:
			kept = append(kept, e)
		}
	}
	*l = kept
}

// MarshalJSON implements json.Marshaler.
func (l List) MarshalJSON() ([]byte, error) { return json.Marshal(strings.Join(l, ",")) }
