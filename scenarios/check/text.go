package check

import (
	"fmt"
	"math"
	"time"
)

// endOfTime marks a uid that the apiserver holds in the end.
const endOfTime = math.MaxInt64

// clock prints a time of the record: UTC, to the microsecond, because requests of one run differ by less than a
// millisecond.
func clock(ns int64) string {
	if ns == 0 {
		return "never"
	}
	return time.Unix(0, ns).UTC().Format("15:04:05.000000")
}

func (r *request) text() string { return requestText(r.e.Method, r.touch) }
func putText(t touch) string    { return requestText("PUT", t) }
func deleteText(t touch) string { return requestText("DELETE", t) }

func requestText(method string, t touch) string {
	return fmt.Sprintf("%s seq %d (received %s, applied %s)", method, t.seq, clock(t.received), clock(t.applied))
}
