package plan

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/internal/units"
)

// mostPerUnit bounds the mean of what one arrival stands for.
const mostPerUnit = 100_000

// validate holds the numbers to the ranges that their tags give, which are those of the
// JSON schema and of the reference.
func (t *Tuning) validate() error {
	if err := withinTags(reflect.ValueOf(*t), "tuning"); err != nil {
		return err
	}
	for _, f := range []struct {
		path string
		mean float64
	}{
		{"tuning.services.step", t.Services.Step.Mean()}, {"tuning.rollouts.size", t.Rollouts.Size.Mean()}, {"tuning.jobs.pods", t.Jobs.Pods.Mean()},
	} {
		if !(f.mean >= 1 && f.mean <= mostPerUnit) {
			return fieldError(f.path, "has a mean of %.3g pods; use a distribution with a mean of 1 to %d, such as one with a clip", f.mean, mostPerUnit)
		}
	}
	if m := t.Pods.Containers.Mean(); !(m >= 0.5 && m <= 20) {
		return fieldError("tuning.pods.containers", "has a mean of %.3g; use one of 1 to 20 containers", m)
	}
	mix := &t.Mix
	if *mix.Services+*mix.Rollouts+*mix.Jobs+*mix.Daemons+*mix.Recreate+*mix.Noise == 0 {
		return fieldError("tuning.mix", "has only zeros, so that nothing would happen; give one of its fields a share")
	}
	return nil
}

func withinTags(v reflect.Value, path string) error {
	for i := range v.NumField() {
		f, field := v.Field(i), v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		at := path + "." + name
		if f.Kind() == reflect.Struct && field.Type.PkgPath() == v.Type().PkgPath() {
			if err := withinTags(f, at); err != nil {
				return err
			}
			continue
		}
		never := f.Kind() == reflect.Pointer // may be 0
		f = reflect.Indirect(f)
		if low, high, ok := strings.Cut(field.Tag.Get("range"), ".."); ok {
			if d, least, most := f.Interface().(units.Duration), duration(low), duration(high); (d < least || d > most) && (d != 0 || !never) {
				return fieldError(at, "%s is out of range; use %s to %s", d, least, most)
			}
		}
		var n float64
		switch {
		case !f.IsValid():
			continue
		case f.Kind() == reflect.Float64:
			n = f.Float()
		case f.Kind() == reflect.Int:
			n = float64(f.Int())
		default:
			continue
		}
		low, high := bounds(field.Tag.Get("jsonschema"))
		if !(n >= low && n <= high) {
			return fieldError(at, "%v is out of range; use %v to %v", n, strconv.FormatFloat(low, 'f', -1, 64), strconv.FormatFloat(high, 'f', -1, 64))
		}
	}
	return nil
}

// duration reads one of a tag.
func duration(text string) (d units.Duration) {
	if err := d.UnmarshalText([]byte(text)); err != nil {
		panic(fmt.Sprintf("a range in a tag: %v", err))
	}
	return d
}

// bounds reads minimum and maximum from a tag.
func bounds(tag string) (low, high float64) {
	low, high = math.Inf(-1), math.Inf(1)
	for _, part := range strings.Split(tag, ",") {
		key, value, _ := strings.Cut(part, "=")
		n, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil:
		case key == "minimum":
			low = n
		case key == "maximum":
			high = n
		}
	}
	return low, high
}
