package spec

import (
	"errors"
	"fmt"
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
	minimal + "cluster: {provider: replay}\n",
	strings.Replace(minimal, "operations: 10", "operations: 10, prefill: 10", 1) + "readers: {list: 1, webhooks: 3}\n",
}

// outcome reports whether a value of a field is refused in any of the bases, or taken in any.
func outcome(path, value string, refused bool) (found bool, last error) {
	for _, base := range bases {
		_, err := Format{}.Parse("base.yaml", []byte(base), path+"="+value)
		hit := false
		for _, e := range flat(err) {
			var at *Error
			if errors.As(e, &at) && (at.Field == path || strings.HasPrefix(at.Field, path+".") || strings.HasPrefix(at.Field, path+"[")) {
				hit, last = true, err
			}
		}
		if hit == refused {
			return true, last
		}
	}
	return false, last
}

var number = regexp.MustCompile(`^([0-9.]+)(\D*)$`)

// What the reference says of a field is what the program does: its example and the ends of
// its range are taken, what is beyond them is not.
func TestReferenceIsTrue(t *testing.T) {
	beside := func(bound string, by float64) string {
		m := number.FindStringSubmatch(bound)
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
	for _, f := range (Format{}).Fields() {
		if f.Meaning == "" || f.Type == "" || f.Example == "" && f.Path != "events[].what" {
			t.Errorf("%s lacks a type, a meaning or an example: %+v", f.Path, f)
		}
		if strings.Contains(f.Path, "[]") || f.Path == "expect" || f.Path == "repeatOnce" || f.Path == "pair" || f.Path == "only" {
			continue // --set has no place for it, or it needs a matrix
		}
		if taken, err := outcome(f.Path, f.Example, false); !taken {
			t.Errorf("%s: the example %s is refused: %v", f.Path, f.Example, err)
		}
		below := -1.0
		if f.Type == "number" || f.Type == "duration" {
			below = -0.5 // 0 is no value
		}
		low, open := strings.CutPrefix(f.Low, "above ")
		for _, end := range []struct {
			bound  string
			by     float64
			closed bool
		}{{low, below, !open}, {f.High, 1, true}} {
			beyond := beside(end.bound, end.by)
			if beyond == "" {
				continue
			}
			ranges++
			if !end.closed {
				beyond = end.bound
			} else if taken, err := outcome(f.Path, end.bound, false); !taken {
				t.Errorf("%s: the end of the range, %s, is refused: %v", f.Path, end.bound, err)
			}
			if refused, _ := outcome(f.Path, beyond, true); !refused {
				t.Errorf("%s takes %s, which is beyond its range", f.Path, beyond)
			}
		}
	}
	if ranges < 60 {
		t.Errorf("only %d ends of ranges were tried", ranges)
	}
	if text := fmt.Sprint(Format{}.Reference()); !strings.Contains(text, "| `podQueueNum` | whole number | `30` | 1 to 4096 | `30` |") {
		t.Errorf("the reference lacks podQueueNum:\n%s", text)
	}
}
