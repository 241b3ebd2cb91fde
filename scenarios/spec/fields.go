package spec

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/internal/strictyaml"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// tags are a field's struct tags about its values; range:"low..high" is for values with a unit.
type tags struct {
	required, optional, open bool   // open: low is not a value itself
	low, high                string // empty without a bound
	words                    []string
	example, meaning         string
}

func tagsOf(f reflect.StructField) (t tags) {
	t.meaning, t.optional = f.Tag.Get("jsonschema_description"), strings.Contains(f.Tag.Get("json"), ",omit")
	for _, part := range strings.Split(strings.ReplaceAll(f.Tag.Get("jsonschema"), `\,`, "\x00"), ",") {
		key, value, _ := strings.Cut(strings.ReplaceAll(part, "\x00", ","), "=")
		switch key {
		case "required":
			t.required = true
		case "minimum", "exclusiveMinimum":
			t.low, t.open = value, key != "minimum"
		case "maximum":
			t.high = value
		case "enum":
			t.words = append(t.words, value)
		case "example":
			t.example = value
		}
	}
	if low, high, ok := strings.Cut(f.Tag.Get("range"), ".."); ok {
		t.low, t.high = low, high
	}
	return t
}

// values describes the values that are right; empty where the type says all.
func (t *tags) values() string {
	low := t.low
	if t.open {
		low = "above " + low
	}
	switch {
	case len(t.words) > 0:
		return strings.Join(t.words, ", ")
	case t.low != "" && t.high != "":
		return low + " to " + t.high
	case t.low != "":
		return low + " or more"
	case t.high != "":
		return "up to " + t.high
	}
	return ""
}

// check refuses a value beyond what the tags say.
func (t *tags) check(path string, v reflect.Value) error {
	if len(t.words) > 0 && !slices.Contains(t.words, v.String()) {
		return bad(path, cmp.Or(renamed[path+"="+v.String()], oneOf(t.words)), "%q is not known", v.String())
	}
	beyond := func(bound string, sign int) bool {
		if bound == "" || len(t.words) > 0 {
			return false
		}
		order := cmp.Compare(amount(v), amountOf(bound, v.Type()))
		return order*sign > 0 || t.open && sign < 0 && order == 0
	}
	if beyond(t.low, -1) || beyond(t.high, 1) {
		return bad(path, "use "+t.values(), "%v is out of range", v.Interface())
	}
	return nil
}

func amount(v reflect.Value) float64 {
	if v.CanInt() {
		return float64(v.Int())
	}
	return v.Float()
}

func amountOf(bound string, typ reflect.Type) float64 {
	v := reflect.New(typ)
	var err error
	if u, ok := v.Interface().(encoding.TextUnmarshaler); ok {
		err = u.UnmarshalText([]byte(bound))
	} else {
		var n float64
		n, err = strconv.ParseFloat(bound, 64)
		v.Elem().Set(reflect.ValueOf(n).Convert(typ))
	}
	if err != nil {
		panic(fmt.Sprintf("spec: the bound %s of a %s: %v", bound, typ, err))
	}
	return amount(v.Elem())
}

// eachField visits the values below v, depth first; set says that a section is written or has defaults.
func eachField(v reflect.Value, path string, set bool,
	do func(path string, v reflect.Value, set bool, t tags) error) error {
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		at, value, set := strings.TrimPrefix(path+"."+name, "."), v.FieldByIndex(f.Index), set
		if value.Kind() == reflect.Pointer {
			if set = set && !value.IsNil(); set {
				value = value.Elem()
			} else {
				value = reflect.New(value.Type().Elem()).Elem()
			}
		}
		var err error
		switch {
		case shapeOf(value.Type()) == section && value.Kind() == reflect.Struct:
			err = eachField(value, at, set && (!tagsOf(f).optional || !value.IsZero()), do)
		case value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Struct:
			for i := range value.Len() {
				if err = eachField(value.Index(i), fmt.Sprintf("%s[%d]", at, i), set, do); err != nil {
					return err
				}
			}
			if value.Len() == 0 {
				err = eachField(reflect.New(value.Type().Elem()).Elem(), at+"[]", false, do)
			}
		default:
			err = do(at, value, set, tagsOf(f))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkRanges refuses values beyond their tags, but a zero that may be left out. The plan checks the load.
func (s *Scenario) checkRanges(written func(path string) bool) error {
	return eachField(reflect.ValueOf(s).Elem(), "", true, func(path string, v reflect.Value, set bool, t tags) error {
		own, isLoad := strings.CutPrefix(path, "load.")
		if isLoad && slices.Contains(strictyaml.FieldNames(reflect.TypeFor[plan.Load]()), strings.FieldsFunc(own, split)[0]) {
			return nil
		}
		if !written(path) && (!set || t.optional && v.IsZero()) {
			return nil
		}
		return t.check(path, v)
	})
}

func split(r rune) bool { return r == '.' || r == '[' }
