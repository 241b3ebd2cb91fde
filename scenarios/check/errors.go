package check

import (
	"errors"
	"fmt"

	"github.com/watchbench/watchbench/reports/result"
)

// One sentinel per guarantee; Verdict.Err wraps those that failed.
var (
	ErrNotConverged   = errors.New("storage did not converge to the apiserver")         // G1
	ErrReordered      = errors.New("versions of one object were applied out of order")  // G2
	ErrStaleWrite     = errors.New("an older state was written over a newer one")       // G3
	ErrResurrected    = errors.New("a deleted object was written again")                // G4
	ErrWrongRecreate  = errors.New("a re-created name did not end with its new uid")    // G5
	ErrNotConserved   = errors.New("events are not conserved")                          // G6
	ErrUnbounded      = errors.New("resources exceeded their bounds")                   // G7
	ErrNotIsolated    = errors.New("one key or kind delayed the others")                // G8
	ErrNotRestartSafe = errors.New("a restart left storage wrong")                      // G9
	ErrNotFenced      = errors.New("a request of unknown outcome overtook a later one") // G10
	ErrNotIdempotent  = errors.New("replaying requests changes the state")              // G11
	ErrNotHealed      = errors.New("tampering was not repaired in time")                // G12
	ErrLeaked         = errors.New("masked data left the watcher")                      // G13
	ErrDishonest      = errors.New("telemetry disagrees with the record")               // G14
)

// Guarantees lists the names of all guarantees in their order.
var Guarantees = []string{"G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8", "G9", "G10", "G11", "G12", "G13", "G14"}

var sentinels = map[string]error{
	"G1": ErrNotConverged, "G2": ErrReordered, "G3": ErrStaleWrite, "G4": ErrResurrected,
	"G5": ErrWrongRecreate, "G6": ErrNotConserved, "G7": ErrUnbounded, "G8": ErrNotIsolated,
	"G9": ErrNotRestartSafe, "G10": ErrNotFenced, "G11": ErrNotIdempotent, "G12": ErrNotHealed,
	"G13": ErrLeaked, "G14": ErrDishonest,
}

// Sentinel is the error of a guarantee ("G1" … "G14"), nil for any other name.
func Sentinel(guarantee string) error { return sentinels[guarantee] }

// Violation is a failed check as an error; it unwraps to the sentinel.
type Violation struct {
	Guarantee string
	Check     result.Check
}

func (v *Violation) Error() string {
	return fmt.Sprintf("%s: %v (%d of %d): %s", v.Guarantee, v.Unwrap(), v.Check.Violations, v.Check.Judged, v.Check.Counterexample)
}

// Unwrap is the guarantee's sentinel.
func (v *Violation) Unwrap() error { return sentinels[v.Guarantee] }
