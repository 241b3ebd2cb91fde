package jsonscan

import (
	"errors"
	"fmt"
)

var errUnknown = errors.New("unknown field")

// Decode reads one JSON object into the variables that field returns for its members:
// a *string, *bool, *int (32 bits), *int64 or *uint64. For nil the member is unknown,
// which is an error as any of Fields'. Strings are taken from in.
func Decode(line []byte, in *Interner, field func(key []byte) any) error {
	return Fields(line, func(key []byte, v Value) (err error) {
		switch p := field(key).(type) {
		case *string:
			*p, err = v.Text(in)
		case *bool:
			*p, err = v.Bool()
		case *int64:
			*p, err = v.Int()
		case *uint64:
			*p, err = v.Uint()
		case *int:
			var n int64
			if n, err = v.Int(); err == nil && (n > 1<<31-1 || n < -1<<31) {
				err = errWantNumber
			}
			*p = int(n)
		case nil:
			err = errUnknown
		default:
			panic(fmt.Sprintf("jsonscan: %T cannot hold a member", p))
		}
		return err
	})
}
