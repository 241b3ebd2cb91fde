package spec

import (
	"cmp"
	_ "embed"
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/watchbench/watchbench/internal/dist"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
)

// Field is a field of a scenario file, as the reference describes it. Its Meaning and Values come from the tags that
// the JSON schema is made from as well.
type Field struct {
	Path     string // such as load.stages[].gap
	Type     string
	Default  string // empty for none
	Required bool
	Values   string // that are right; empty where the type says all
	Meaning  string
}

// typeNames are of types with a notation of their own, with an example where the notation needs one.
var typeNames = map[reflect.Type]string{
	reflect.TypeFor[units.Speed]():         "speed",
	reflect.TypeFor[Duration]():            "duration",
	reflect.TypeFor[Size]():                "size",
	reflect.TypeFor[Share]():               "share",
	reflect.TypeFor[Moment]():              "time, or a range of times (`2s..5s`)",
	reflect.TypeFor[Thresholds]():          "mapping (`{freshness.p99: '< 1s'}`)",
	reflect.TypeFor[Expect]():              "mapping (`{G2: {unordered: fail-allowed}}`)",
	reflect.TypeFor[[]map[string]string](): "list of points (`[{watcher.strategy: single, load: heavy}]`)",
	reflect.TypeFor[[]string]():            "list",
	reflect.TypeFor[[]Duration]():          "list of durations",
	reflect.TypeFor[dist.Duration]():       "durations",
	reflect.TypeFor[dist.Size]():           "sizes",
	reflect.TypeFor[dist.Number]():         "numbers",
}

var kindNames = map[reflect.Kind]string{
	reflect.String: "text", reflect.Bool: "bool", reflect.Int: "integer", reflect.Int64: "integer",
	reflect.Uint64: "integer", reflect.Float64: "number",
}

// Fields lists the fields of a scenario file in their order.
func (format Format) Fields() (all []Field) {
	s := Default()
	_ = eachField(reflect.ValueOf(&s).Elem(), "", true, func(path string, v reflect.Value, set bool, t tags) error {
		if path == "events[].what" {
			t.words = namesOf(format.kinds())
		}
		f := Field{Path: path, Required: t.required, Values: t.values(), Meaning: t.meaning,
			Type: cmp.Or(typeNames[v.Type()], kindNames[v.Kind()])}
		if len(t.words) > 0 {
			f.Type = "word"
		} else if t.example != "" && f.Values == "" && !strings.Contains(f.Type, "(") {
			f.Type += " (`" + t.example + "`)"
		}
		if set {
			f.Default = text(v)
		}
		all = append(all, f)
		return nil
	})
	return all
}

// text is a default as a file would write it; empty for no text, and for false.
func text(v reflect.Value) string {
	m, ok := v.Interface().(encoding.TextMarshaler)
	switch {
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Map || v.IsZero() && (ok || v.Kind() == reflect.Bool):
		return ""
	case ok:
		b, err := m.MarshalText()
		if err != nil {
			return ""
		}
		return string(b)
	}
	return fmt.Sprint(v.Interface())
}

//go:embed testdata/reference.txt
var referenceText string

var slot = regexp.MustCompile(`\{(fields:(.*)|fixed|metrics)\}`)

// Reference is docs/scenario-reference.md.
func (format Format) Reference() string {
	fields := format.Fields()
	return slot.ReplaceAllStringFunc(referenceText, func(s string) string {
		section, isFields := strings.CutPrefix(strings.Trim(s, "{}"), "fields:")
		switch {
		case isFields:
			return tableOf(fields, section)
		case section == "fixed":
			return "`" + strings.Join(fixed, "`, `") + "`"
		}
		var examples []string // one of each unit, in the order of the metrics
		names := map[string]string{}
		for _, m := range result.Metrics() {
			if names[m.Example()] == "" {
				examples = append(examples, m.Example())
			}
			names[m.Example()] += " `" + m.Name + "`"
		}
		rows := "| for example | metrics |\n|---|---|"
		for _, e := range examples {
			rows += fmt.Sprintf("\n| `%s` |%s |", e, names[e])
		}
		return rows
	})
}

// tableOf is a table of the fields of a section; those of the file itself with an empty one.
func tableOf(fields []Field, section string) string {
	cell := func(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
	rows := "| field | value | meaning |\n|---|---|---|"
	for _, f := range fields {
		of, name, below := strings.Cut(f.Path, ".")
		if !below {
			of, name = "", f.Path
		}
		if of != section {
			continue
		}
		value := f.Type
		if f.Type == "word" {
			value = f.Values
		} else if f.Values != "" {
			value += ", " + f.Values
		}
		if f.Default != "" {
			value += ", default `" + f.Default + "`"
		}
		if f.Required {
			value = "required: " + value
		}
		rows += fmt.Sprintf("\n| `%s` | %s | %s |", name, cell(value), cell(f.Meaning))
	}
	return rows
}
