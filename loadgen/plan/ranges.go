package plan

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
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
				"has a mean of %.3g pods; use a distribution with a mean of 1 to %d", f.mean, mostPerUnit)
		}
	}
	if m := t.Pods.Containers.Mean(); !(m >= 0.5 && m <= 20) {
		return fieldError("tuning.pods.containers", "has a mean of %.3g; use one of 1 to 20 containers", m)
	}
	mix := &t.Mix
	if *mix.Services+*mix.Rollouts+*mix.Jobs+*mix.Daemons == 0 {
		return fieldError("tuning.mix", "has only zeros, so that nothing would happen; give one of its fields a share")
	}
	return nil
}

// withinTags checks values against the ranges in the tags of their fields, but for zeros of optional ones.
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
	case !f.CanInt() && !f.CanFloat():
		return nil
	}
	low, high, above := bounds(field)
	value := func(text string, without float64) float64 { // another field's name, not a number, bounds nothing
		v := reflect.New(f.Type())
		if u, ok := v.Interface().(encoding.TextUnmarshaler); ok && u.UnmarshalText([]byte(text)) == nil {
			return float64(v.Elem().Int())
		} else if n, err := strconv.ParseFloat(text, 64); !ok && err == nil {
			return n
		}
		return without
	}
	var n float64
	least := value(low, math.Inf(-1))
	if f.CanInt() {
		n = float64(f.Int())
	} else {
		n = f.Float()
	}
	if n >= least && n <= value(high, math.Inf(1)) && !(above && n == least) {
		return nil
	}
	use := low + " to " + high
	switch {
	case above:
		use = "more than " + low + " and at most " + high
	case low == "":
		use = "at most " + high
	}
	return fieldError(at, "%v is out of range; use %s", f.Interface(), use)
}

// bounds reads a field's tags: a range, or the schema's minimum or exclusiveMinimum and maximum.
func bounds(field reflect.StructField) (low, high string, above bool) {
	if low, high, ranged := strings.Cut(field.Tag.Get("range"), ".."); ranged {
		low, above = strings.CutPrefix(low, "above ")
		return low, high, above
	}
	for _, part := range strings.Split(field.Tag.Get("jsonschema"), ",") {
		switch key, value, _ := strings.Cut(part, "="); key {
		case "minimum", "exclusiveMinimum":
			low, above = value, key == "exclusiveMinimum"
		case "maximum":
			high = value
		}
	}
	return low, high, above
}
