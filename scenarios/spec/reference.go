package spec

import (
	"cmp"
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/dist"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
)

// Field is a field of a scenario file, as the reference describes it.
type Field struct {
	Path     string // such as load.stages[].gap
	Type     string
	Default  string // empty for none
	Required bool
	// Low and High bound it, empty without a bound; Words are the values of an enumeration.
	Low, High string
	Words     []string
	Example   string
	Meaning   string
}

// Range describes the field's values, empty where its type says all.
func (f Field) Range() string {
	switch {
	case len(f.Words) > 0:
		return "`" + strings.Join(f.Words, "` `") + "`"
	case f.Low != "" && f.High != "":
		return f.Low + " to " + f.High
	case f.Low != "":
		return "from " + f.Low
	case f.High != "":
		return "up to " + f.High
	}
	return ""
}

// Fields lists the fields of a scenario file in their order. What a field is for, and its
// range, come from the tags that the JSON schema is made from as well; range:"low..high" is
// for values with a unit.
func (format Format) Fields() []Field {
	w := &fieldWalk{kinds: namesOf(format.kinds())}
	w.walk(reflect.ValueOf(Default()), "", true)
	return w.all
}

type fieldWalk struct {
	kinds []string // of events
	all   []Field
}

// typeNames are of types with a notation of their own.
var typeNames = map[reflect.Type][2]string{ // name, example
	reflect.TypeFor[units.Speed](): {"speed", "10x"},
	reflect.TypeFor[Duration]():    {"duration", "30s"}, reflect.TypeFor[Size](): {"size", "3KiB"},
	reflect.TypeFor[Share]():               {"share", "80%"},
	reflect.TypeFor[Moment]():              {"time, or a range of times", "2s..5s"},
	reflect.TypeFor[Thresholds]():          {"mapping", "{freshness.p99: '< 1s'}"},
	reflect.TypeFor[Expect]():              {"mapping", "{G2: {unordered: fail-allowed}}"},
	reflect.TypeFor[[]map[string]string](): {"list of points", "[{watcher.strategy: single, load: heavy}]"},
	reflect.TypeFor[[]string]():            {"list", ""},
	reflect.TypeFor[[]Duration]():          {"list of durations", ""},
	reflect.TypeFor[dist.Duration]():       {"distribution of durations", "LN(1s,0.5)"},
	reflect.TypeFor[dist.Size]():           {"distribution of sizes", "LN(12KB,0.5) clip 3KB..60KB"},
	reflect.TypeFor[dist.Number]():         {"distribution of numbers", "mix(80=5,15=30,5=250)"},
}

var kindNames = map[reflect.Kind][2]string{
	reflect.String: {"text", ""}, reflect.Bool: {"true or false", "true"}, reflect.Int: {"whole number", "4"},
	reflect.Int64: {"whole number", "600"}, reflect.Uint64: {"whole number", "7"}, reflect.Float64: {"number", "1"},
}

// walk takes the fields of a struct; set says whether v holds the defaults.
func (w *fieldWalk) walk(v reflect.Value, path string, set bool) {
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		at := strings.TrimPrefix(path+"."+name, ".")
		value, has := v.FieldByIndex(f.Index), set
		if value.Kind() == reflect.Pointer {
			value, has = reflect.New(value.Type().Elem()).Elem(), false
		}
		named, known := typeNames[value.Type()]
		switch {
		case known:
		case value.Kind() == reflect.Struct:
			w.walk(value, at, has)
			continue
		case value.Kind() == reflect.Slice:
			w.walk(reflect.New(value.Type().Elem()).Elem(), at+"[]", false)
			continue
		default:
			named = kindNames[value.Kind()]
		}
		w.all = append(w.all, w.field(f, at, value, has, named))
	}
}

func (w *fieldWalk) field(f reflect.StructField, path string, v reflect.Value, set bool, named [2]string) Field {
	out := Field{Path: path, Type: named[0], Meaning: f.Tag.Get("jsonschema_description")}
	if set {
		out.Default = text(v)
	}
	for _, part := range strings.Split(strings.ReplaceAll(f.Tag.Get("jsonschema"), `\,`, "\x00"), ",") {
		key, value, _ := strings.Cut(strings.ReplaceAll(part, "\x00", ","), "=")
		switch key {
		case "required":
			out.Required = true
		case "minimum":
			out.Low = value
		case "exclusiveMinimum":
			out.Low = "above " + value
		case "maximum":
			out.High = value
		case "enum":
			out.Words = append(out.Words, value)
		case "example":
			out.Example = value
		}
	}
	if low, high, ok := strings.Cut(f.Tag.Get("range"), ".."); ok {
		out.Low, out.High = low, high
	}
	if path == "events[].what" {
		out.Words = w.kinds
	}
	shown := out.Default
	if shown == "0" || v.Kind() == reflect.Bool {
		shown = named[1]
	}
	word := ""
	if len(out.Words) > 0 {
		out.Type, word = "word", out.Words[len(out.Words)-1]
	}
	out.Example = cmp.Or(out.Example, shown, word, named[1])
	return out
}

// text is a default as a file would write it.
func text(v reflect.Value) string {
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		b, err := m.MarshalText()
		if err != nil || v.IsZero() {
			return ""
		}
		return string(b)
	}
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Bool, reflect.Int, reflect.Float64:
		return fmt.Sprint(v.Interface())
	case reflect.Uint64:
		return fmt.Sprint(v.Uint())
	}
	return ""
}

// Reference is the reference of scenario files, in Markdown.
func (format Format) Reference() string {
	var b strings.Builder
	b.WriteString(`# Every field of a scenario

Generated: ` + "`go test ./scenarios/faults -run Reference -update`" + `. [first-scenario.md](first-scenario.md)
goes from a copy to an answer; ` + "`watchbench scenarios schema`" + ` prints a JSON schema for editors.

` + "`--set path=value`" + ` sets a field for one run, over the file and its matrix.
`)
	fields := format.Fields()
	var sections []string
	for _, f := range fields {
		if s := sectionOf(f.Path); !slices.Contains(sections, s) {
			sections = append(sections, s)
		}
	}
	for _, s := range sections {
		title := s
		if s == "" {
			title = "The file"
		}
		fmt.Fprintf(&b, "\n## %s\n\n", title)
		if note := sectionNotes[s]; note != "" {
			b.WriteString(note + "\n\n")
		}
		b.WriteString("| field | type | default | range | example | meaning |\n|---|---|---|---|---|---|\n")
		for _, f := range fields {
			if sectionOf(f.Path) != s {
				continue
			}
			def := code(f.Default)
			if f.Required {
				def = "required"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", strings.TrimPrefix(strings.TrimPrefix(f.Path, s), "."),
				f.Type, def, f.Range(), code(f.Example), cell(f.Meaning))
		}
	}
	b.WriteString(afterFields)
	b.WriteString("\n## thresholds\n\n" + thresholdsNote + "\n\n| metric | unit | example |\n|---|---|---|\n")
	for _, m := range result.Metrics() {
		fmt.Fprintf(&b, "| `%s` | %s | `%s` |\n", m.Name, cmp.Or(m.Unit, "–"), m.Example())
	}
	return b.String()
}

// sectionOf is the first name of a path, empty for a field of the file itself.
func sectionOf(path string) string {
	section, _, below := strings.Cut(path, ".")
	if !below {
		return ""
	}
	return section
}

func code(s string) string {
	if s == "" {
		return "–"
	}
	return "`" + cell(s) + "`"
}

// cell keeps a text from ending a column.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// sectionNotes say what a section is for.
var sectionNotes = map[string]string{
	"cluster": "What the watcher watches.",
	"storage": "The storage service that the watcher writes to. Latencies and faults have grammars of their own: " +
		"`storagemock --help`.",
	"load": "What is done to the API server: a closed loop (threads that wait for each answer) or an open one " +
		"(a rate).",
	"watcher": "The process under test. All but `command`, `resources`, `replicas` and the timeouts is for `k8s-watch`; " +
		"another watcher reads what it likes from its config file.",
	"readers": "Programs that read Pods from the watcher or the API server while the load goes on, and receive " +
		"webhooks; see [readers.md](readers.md).",
	"watch":    "What goes wrong between API server and watcher.",
	"extra":    "Objects beside the load, which events change.",
	"events[]": "What is done to the parties, in the order of time; see [faults.md](faults.md).",
	"ceilings": "Column B of the fault matrix: what the watcher may use. What is not given is derived where B " +
		"is asserted.",
	"fault": "Makes the scenario a row of the fault matrix; see [faults.md](faults.md).",
	"limits": "Conditions without which a cell is invalid; see " +
		"[measures.md](measures.md#when-a-number-may-be-believed).",
}

// afterFields describes sections outside a cell.
var afterFields = `
## matrix

Every combination of the points of its axes is a cell. The key is the path of a field, with a list of values, or that
of a section, with named points that set some of its fields:

` + "```yaml" + `
matrix:
  watcher.strategy: [partitioned, keyed]
  load:
    light: {model: closed, threads: 10, operations: 100}
    heavy: {model: closed, threads: 40, operations: 1200}
` + "```" + `

For a number, a duration, a size, a share or a speed, a range stands for several values, alone or in the list:

| range | values |
|---|---|
| ` + "`1..256 *2`" + ` | 1, 2, 4, 8 … 256 |
| ` + "`10ms..60ms +10ms`" + ` | 10ms, 20ms … 60ms; what is added is written as the values are |
| ` + "`[1, 4..64 *4, 100]`" + ` | 1, 4, 16, 64, 100 |
| ` + "`1..100 *2`" + ` | 1, 2, 4 … 64: the end is a bound, and a value where a step meets it |
| ` + "`1..8 *1.5`" + ` | 1, 2, 3, 5, 8: whole numbers, bytes and nanoseconds are rounded |

The points of a list have names as well: ` + "`storage.faults: {none: [], some: ['503:1%']}`" + `.

` + "`--set matrix.watcher.strategy=keyed,dedup`" + ` replaces the values of an axis or adds one; a range works as well.
` + "`--set matrix.load=light`" + ` chooses named points, ` + "`--set matrix.load.light.threads=20`" + ` sets a field
of one; without ` + "`matrix.`" + ` all get it. There are at most 400 points, whatever ` + "`repeat`" + ` says. No axis:

| field | why not | instead |
|---|---|---|
` + fixedRows() + `
[sweep.md](sweep.md) goes from a sweep to its curve.
`

// fixedRows are the fields that no axis can set, as rows of a table.
func fixedRows() string {
	var b strings.Builder
	for _, f := range slices.Sorted(maps.Keys(fixed)) {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f, cell(fixed[f].why), cell(fixed[f].remedy))
	}
	return b.String()
}

const thresholdsNote = `Bounds by metric, each a sign and a value: ` + "`freshness.p99: '< 1s'`" +
	`; see [measures.md](measures.md#thresholds). A value without a unit is in the
metric's own where its name says which; a share may be written in percent.`
