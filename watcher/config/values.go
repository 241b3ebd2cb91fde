package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/watcher/setting"
)

// Duration is a length of time written as in Go: "1s", "250ms".
type Duration = setting.Duration

// List is a comma-separated list in one string.
type List []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *List) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("want one string with commas between the elements, got %s", setting.KindOf(b))
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
			say("an element is empty, ignored")
		case slices.Contains(kept, e):
			say(fmt.Sprintf("%q is listed twice, the second is ignored", e))
		default:
			kept = append(kept, e)
		}
	}
	*l = kept
}

// MarshalJSON implements json.Marshaler.
func (l List) MarshalJSON() ([]byte, error) { return json.Marshal(strings.Join(l, ",")) }
