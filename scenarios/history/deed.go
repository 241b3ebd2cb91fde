package history

import (
	"encoding/json"
	"fmt"

	"github.com/watchbench/watchbench/reports/result"
)

// Deed is what a failpoint did, one line of deeds.ndjson. An event that was carried out several times has one Deed each
// time.
type Deed struct {
	What  string `json:"what"` // the event, as the scenario spells it
	Began int64  `json:"began"`
	Ended int64  `json:"ended"`
	// Keys is how many objects or rows it concerned.
	Keys int64 `json:"keys,omitempty"`
	// Seen records the failpoint's observations; the rules of the same file read it back.
	Seen json.RawMessage `json:"seen,omitempty"`
}

// Finding is a cell's finding by a rule of a Go test, one line of findings.ndjson; see matrix.Rule.
type Finding struct {
	First   bool          `json:"first,omitempty"`
	Cached  int           `json:"cached,omitempty"`
	Facts   []result.Fact `json:"facts,omitempty"`
	Vacuous []string      `json:"vacuous,omitempty"`
}

// Deeds reads back what the failpoints of one event saw, in order.
func Deeds[T any](deeds []Deed, what ...string) ([]T, error) {
	var out []T
	for i, d := range deeds {
		for _, w := range what {
			if d.What != w {
				continue
			}
			if len(d.Seen) == 0 {
				return nil, &FormatError{File: FileDeeds, Line: i + 1, Err: fmt.Errorf("%s without what was seen of it", w)}
			}
			var v T
			if err := json.Unmarshal(d.Seen, &v); err != nil {
				return nil, &FormatError{File: FileDeeds, Line: i + 1, Err: err}
			}
			out = append(out, v)
		}
	}
	return out, nil
}
