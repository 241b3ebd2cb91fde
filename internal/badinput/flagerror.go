package badinput

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// forms says what a flag's value should have been, by its type.
var forms = map[string]string{
	"int": "a whole number", "int64": "a whole number", "uint64": "a whole number from 0 up", "float64": "a number",
	"bool": "true or false", "duration": "a duration such as 30s",
}

// ExplainFlag says what a flag's value should have been, or which flag was meant; err comes from fs.Parse.
func ExplainFlag(fs *pflag.FlagSet, err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		name, form := bad.GetFlag().Name, forms[bad.GetFlag().Value.Type()]
		_, noUnit := time.ParseDuration(bad.GetValue() + "s")
		switch {
		case form == forms["duration"] && noUnit == nil:
			return fmt.Errorf("--%s: %q has no unit: did you mean %[2]ss?", name, bad.GetValue())
		case errors.Is(bad, strconv.ErrRange):
			return fmt.Errorf("--%s: %s is out of range", name, bad.GetValue())
		case form != "":
			return fmt.Errorf("--%s: %q is not %s", name, bad.GetValue(), form)
		}
	}
	if bad, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var known []string
		fs.VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if near := Nearest(bad.GetSpecifiedName(), known); near != "" {
			return fmt.Errorf("%w (did you mean --%s?)", err, near)
		}
	}
	return err
}
