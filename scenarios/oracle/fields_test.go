package oracle

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// notShown are fields of results.json that no committed record has, and the oracle would
// refuse or copies.
var notShown = map[string]string{
	"watcher.restarts":      "no committed cell restarts its watcher",
	"events.lost":           "compared where a cell was not cut",
	"load.generators.*":     "no committed run has several generators; the runner's TestGeneratorsEndToEnd counts theirs",
	"readers.get.errors.*":  "compared where TestSpoiledReaders makes some",
	"readers.list.errors.*": "compared where TestSpoiledReaders makes some",
}

// TestEveryFieldIsComparedOrListed fails for a field of results.json that nobody computes a
// second time and nobody says why.
func TestEveryFieldIsComparedOrListed(t *testing.T) {
	compared := map[string]bool{}
	for _, dir := range append(saved(t, testdata), profiled(t)) {
		for _, c := range cells(t, dir) {
			r := load(t, c.dir)
			for path := range compute(t, r) {
				compared[path] = true
			}
		}
	}
	var fields []string
	leaves(reflect.TypeFor[result.Cell](), "", &fields)
	if len(fields) < 100 {
		t.Fatalf("only %d fields", len(fields))
	}
	for _, f := range fields {
		form := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(f), `\*`, `.+`) + "$")
		found := notShown[f] != ""
		for path := range compared {
			found = found || form.MatchString(path)
		}
		for _, n := range notCompared {
			found = found || n.in == nil && regexp.MustCompile("^"+n.path+"$").MatchString(strings.ReplaceAll(f, "*", "x"))
		}
		if !found {
			t.Errorf("%s is neither compared nor listed in notCompared with a reason", f)
		}
	}
}

// leaves lists the JSON paths of a type; * stands for a key or an index.
func leaves(t reflect.Type, path string, into *[]string) {
	switch t.Kind() {
	case reflect.Pointer:
		leaves(t.Elem(), path, into)
	case reflect.Map, reflect.Slice:
		leaves(t.Elem(), path+".*", into)
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" && name != "-" {
				leaves(f.Type, strings.TrimPrefix(path+"."+name, "."), into)
			}
		}
	default:
		*into = append(*into, path)
	}
}
