package plan

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/internal/units"
)

// mostPerUnit bounds the mean number of pods per arrival.
const mostPerUnit = 100_000

// validate holds the numbers to the ranges of their tags, and means to what can be played.
func (t *Tuning) validate() error {
	if err := withinTags(reflect.ValueOf(*t), "tuning"); err != nil {
		return err
	}
	for _, f := range []struct {
		path string
		mean float64
	}{
		{"tuning.services.step", t.Services.Step.Mean()}, {"tuning.rollouts.size", t.Rollouts.Size.Mean()},
		{"tuning.jobs.pods", t.Jobs.Pods.Mean()},
	} {
		if !(f.mean >= 1 && f.mean <= mostPerUnit) {
			return fieldError(f.path,
				"has a mean of %.3g pods; use a distribution with a mean of 1 to %d, such as one with a clip", f.mean, mostPerUnit)
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

// withinTags checks numbers, durations and sizes against the ranges in the tags of their
// fields, which the JSON schema and the reference use, too. A zero of an optional field is
// not checked.
func withinTags(v reflect.Value, path string) error {
	for i := range v.NumField() {
		f, field := v.Field(i), v.Type().Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		at := strings.TrimPrefix(path+"."+name, ".")
		pointer := f.Kind() == reflect.Pointer // so that 0 is said
		if f = reflect.Indirect(f); !f.IsValid() || f.IsZero() && !pointer && options != "" {
			continue
		}
		if err := withinTag(f, field, at); err != nil && (!pointer || !f.IsZero()) {
			return err
		}
	}
	return nil
}

func withinTag(f reflect.Value, field reflect.StructField, at string) error {
	own := func(t reflect.Type) bool {
		return t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[Load]().PkgPath()
	}
	low, high, ranged := strings.Cut(field.Tag.Get("range"), "..")
	switch v := f.Interface().(type) {
	case units.Duration:
		least, _, above := parsed[units.Duration](low)
		most, bounded, _ := parsed[units.Duration](high)
		if ranged && (v < least || above && v == least || bounded && v > most) {
			use := strings.Replace(field.Tag.Get("range"), "..", " to ", 1)
			if low == "" {
				use = "at most " + high
			}
			return fieldError(at, "%s is out of range; use %s", v, use)
		}
		return nil
	case units.Size:
		least, _, _ := parsed[units.Size](low)
		most, _, _ := parsed[units.Size](high)
		if ranged && (v < least || v > most) {
			return fieldError(at, "%s is out of range; use %s to %s", v, low, high)
		}
		return nil
	}
	var n float64
	switch {
	case own(f.Type()):
		return withinTags(f, at)
	case f.Kind() == reflect.Slice && own(f.Type().Elem()):
		for i := range f.Len() {
			if err := withinTags(f.Index(i), fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
		return nil
	case f.CanFloat():
		n = f.Float()
	case f.CanInt():
		n = float64(f.Int())
	default:
		return nil
	}
	least, most, above := bounds(field.Tag.Get("jsonschema"))
	if n >= least && n <= most && !(above && n == least) {
		return nil
	}
	written := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	if above {
		return fieldError(at, "%v is out of range; use more than %s and at most %s", n, written(least), written(most))
	}
	return fieldError(at, "%v is out of range; use %s to %s", n, written(least), written(most))
}

// parsed reads a bound of a tag: nothing, a value, "above" one, or the name of another field,
// which bounds nothing here.
func parsed[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](text string) (v T, ok, above bool) {
	text, above = strings.CutPrefix(text, "above ")
	ok = P(&v).UnmarshalText([]byte(text)) == nil
	return v, ok, above
}

// bounds reads minimum or exclusiveMinimum and maximum from a tag.
func bounds(tag string) (low, high float64, above bool) {
	low, high = math.Inf(-1), math.Inf(1)
	for _, part := range strings.Split(tag, ",") {
		key, value, _ := strings.Cut(part, "=")
		n, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil:
		case key == "minimum", key == "exclusiveMinimum":
			low, above = n, key == "exclusiveMinimum"
		case key == "maximum":
			high = n
		}
	}
	return low, high, above
}
