package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

func TestFields(t *testing.T) {
	object := func(side history.Side, kind, text string) Raw {
		text = strings.Replace(strings.Replace(text, "{", `{"kind":"`+kind+`",`, 1), ",}", "}", 1)
		return Raw{Side: side, Kind: kind, Namespace: "a", Name: "web", JSON: []byte(text)}
	}
	many := func(value string) string {
		var fields []string
		for i := range 20 {
			fields = append(fields, fmt.Sprintf(`"k%02d":"%s"`, i, value))
		}
		return `{"data":{` + strings.Join(fields, ",") + `}}`
	}
	masks := Rules{Masks: []Mask{{Kind: "Pod", Path: []string{"spec", "env"}}}}
	for _, tc := range []struct {
		name, kind         string
		rules              Rules
		apiserver, storage string
		want               string
	}{
		{"the same", "Pod", Rules{}, `{"metadata":{"managedFields":[]},"spec":{"n":1}}`, `{"spec":{"n":1},"metadata":{}}`, ""},
		{"kept", "Pod", Rules{}, `{"metadata":{"managedFields":[{"a":1}]}}`, `{"metadata":{"managedFields":[{"a":1}]}}`,
			`metadata.managedFields: stored [{"a":1}], expected nothing`},
		{"values and lists", "Pod", Rules{}, `{"spec":{"c":[{"image":"b"},{"image":"c"}],"n":1},"status":null}`, `{"spec":{"c":[{"image":"a"}],"n":"1"}}`,
			`spec.c[0].image: stored "a", expected "b"; spec.c[1]: stored nothing, expected {"image":"c"}; spec.n: stored "1", expected 1; status: stored nothing, expected null`},
		{"a key with dots", "Pod", Rules{}, `{"metadata":{"labels":{"app.kubernetes.io/name":"x"}}}`, `{"metadata":{"labels":{}}}`,
			`metadata.labels["app.kubernetes.io/name"]: stored nothing, expected "x"`},
		{"a long value", "Pod", Rules{}, `{}`, `{"x":"` + strings.Repeat("y", 100) + `"}`, `x: stored "` + strings.Repeat("y", 59) + `…, expected nothing`},
		{"many fields", "ConfigMap", Rules{}, many("a"), many("b"), `data.k00: stored "b", expected "a"; `},
		{"a Secret", "Secret", Rules{}, `{"data":{"password":"aHVzaA=="}}`, `{"data":{"password":"b2xk"}}`, `data.password: stored a value, expected a value`},
		{"masked", "Pod", masks, `{"spec":{"env":"hush","n":1}}`, `{"spec":{"env":"hush","n":1}}`, `spec.env: stored a value, expected nothing`},
	} {
		got, err := Fields(object(history.SideApiserver, tc.kind, tc.apiserver), object(history.SideStorage, tc.kind, tc.storage), tc.rules)
		if tc.name == "many fields" {
			if err != nil || !strings.HasPrefix(got, tc.want) || strings.Count(got, "; ") != maxFields || !strings.HasSuffix(got, "; …") {
				t.Errorf("%s: %s, %v", tc.name, got, err)
			}
			continue
		}
		if err != nil || got != tc.want {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", tc.name, got, err, tc.want)
		}
	}
	if _, err := Fields(object(history.SideApiserver, "Pod", `{}`), object(history.SideStorage, "Pod", `null`), Rules{}); err == nil {
		t.Error("no object is no error")
	}
}

// TestEachDifferenceIsTold: of many objects that differ each has a counterexample, and one whose fields are recorded
// names them.
func TestEachDifferenceIsTold(t *testing.T) {
	const n = maxExamples + 10
	v, err := Judge(t.Context(), &History{
		Ledger: items([]ledger.Entry(nil)),
		State: func(yield func(history.StateRecord, error) bool) {
			for _, side := range []history.Side{history.SideApiserver, history.SideStorage} {
				for i := range n {
					r := history.StateRecord{Side: side, Kind: "Pod", Namespace: "a", Name: fmt.Sprintf("p%02d", i), UID: "u", ResourceVersion: 7, Digest: string(side)}
					if side == history.SideStorage && i == 0 {
						r.Differs = `spec.n: stored 1, expected 2`
					}
					if !yield(r, nil) {
						return
					}
				}
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := v.Checks["G1"]
	if c.Verdict != result.Fail || c.Violations != n || len(c.Further) != maxExamples-1 {
		t.Fatalf("%s, %d violations, %d further counterexamples", c.Verdict, c.Violations, len(c.Further))
	}
	for text, want := range map[string]string{
		c.Counterexample: "Pod/a/p00: uid u version 7: the contents differ: spec.n: stored 1, expected 2; no request for it took effect",
		c.Further[0]:     "Pod/a/p01: uid u version 7: the contents differ (digest ",
	} {
		if !strings.HasPrefix(text, want) {
			t.Errorf("got  %s\nwant %s…", text, want)
		}
	}
}
