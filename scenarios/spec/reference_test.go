package spec

import (
	"errors"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// bases are files in which between them every field may stand.
var bases = []string{
	minimal,
	strings.Replace(minimal, "operations: 10", "operations: 10, bystander: {kind: ConfigMap, rate: 1}, hotkeys: {objects: 2, burst: 2, share: 0.1}", 1),
	strings.Replace(minimal, "closed, threads: 2, operations: 10", "open, duration: 5s, steps: [{length: 1s, rate: 5}]", 1),
	strings.Replace(minimal, "closed, threads: 2, operations: 10", "open, rate: 2, duration: 5s, profile: mixed-production, nodes: 500, namespaces: 20", 1),
	minimal + "fault: {row: F2, title: x, assert: [C]}\n",
	minimal + "storage: {instances: 5, faults: ['503:1%']}\nwatcher: {replicas: 2, leaderElection: true}\nwatch: {faults: ['close(1s,5s)']}\nextra: {namespaces: 1, pods: 1}\n",
	minimal + "cluster: {provider: simulated}\n",
	strings.Replace(minimal, "operations: 10", "operations: 10, prefill: 10", 1) + "readers: {list: 1, webhooks: 3}\n",
}

// outcome reports whether a value of a field is refused in any of the bases, or taken in any.
func outcome(path, value string, refused bool) (found bool, last error) {
	for _, base := range bases {
		_, err := Format{}.Parse("base.yaml", []byte(base), path+"="+value)
		at, ok := errors.AsType[*Error](err)
		hit := ok && (at.Field == path || strings.HasPrefix(at.Field, path+".") || strings.HasPrefix(at.Field, path+"["))
		if hit {
			last = err
		}
		if hit == refused {
			return true, last
		}
	}
	return false, last
}

var bound = regexp.MustCompile(`^([0-9.]+)([^0-9.]*)$`)

// What the reference says of a field is what the program does: the ends of its range are taken, what is beyond them is
// not.
func TestReferenceIsTrue(t *testing.T) {
	beyond := func(end string, by float64) string {
		m := bound.FindStringSubmatch(end)
		if m == nil {
			return "" // another field
		}
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return strconv.FormatFloat(n+by, 'f', -1, 64) + m[2]
	}
	ranges := 0
	s := Default()
	err := eachField(reflect.ValueOf(&s).Elem(), "", true, func(path string, v reflect.Value, _ bool, f tags) error {
		if f.meaning == "" || typeNames[v.Type()] == "" && kindNames[v.Kind()] == "" {
			t.Errorf("%s lacks a type or a meaning", path)
		}
		if strings.Contains(path, "[]") || len(f.words) > 0 || strings.HasPrefix(path, "decide") {
			return nil // --set has no place for it
		}
		below := -1.0
		if v.CanFloat() || v.Type() == reflect.TypeFor[Duration]() {
			below = -0.5 // 0 is no value
		}
		low, above := strings.CutPrefix(f.low, "above ")
		for _, end := range []struct {
			bound  string
			by     float64
			closed bool
		}{{low, below, !above && !f.open}, {f.high, 1, true}} {
			out := beyond(end.bound, end.by)
			if out == "" {
				continue
			}
			ranges++
			if !end.closed {
				out = end.bound
			} else if taken, err := outcome(path, end.bound, false); !taken {
				t.Errorf("%s: the end of the range, %s, is refused: %v", path, end.bound, err)
			}
			if refused, _ := outcome(path, out, true); !refused {
				t.Errorf("%s takes %s, which is beyond its range", path, out)
			}
		}
		return nil
	})
	if err != nil || ranges < 60 {
		t.Errorf("only %d ends of ranges were tried: %v", ranges, err)
	}
	if text := (Format{}).Reference(); !strings.Contains(text, "| `podQueueNum` | integer, 1 to 4096, default `30` |") || strings.Contains(text, "{fields") {
		t.Errorf("the reference lacks podQueueNum:\n%s", text)
	}
}

// TestEverySectionIsInTheReference: each field has a row.
func TestEverySectionIsInTheReference(t *testing.T) {
	for _, f := range (Format{}).Fields() {
		section, _, below := strings.Cut(f.Path, ".")
		if !below {
			section = ""
		}
		if !strings.Contains(referenceText, "{fields:"+section+"}") {
			t.Errorf("%s has no table", f.Path)
		}
	}
}
