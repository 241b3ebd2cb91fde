package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
)

// evidenceOf is evidence in short: the requests, with ! for the one at fault, and the versions.
func evidenceOf(e result.Evidence) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s/%s/%s:", e.Kind, e.Namespace, e.Name)
	for _, r := range e.Requests {
		mark := ""
		if r.Violates {
			mark = "!"
		}
		fmt.Fprintf(&s, " %s%s %d", mark, r.Method, r.Version)
	}
	fmt.Fprintf(&s, " (%d out); written", e.RequestsOut)
	for _, w := range e.Written {
		fmt.Fprintf(&s, " %s %d", w.UID, w.Version)
	}
	return s.String()
}

func TestEvidence(t *testing.T) {
	many := make([]string, 0, 22)
	for i := range 10 {
		many = append(many, fmt.Sprintf("%d PUT web u1 100", 11+i))
	}
	many = append(many, "31 PUT other u9 50", "35 PUT web u1 110", "36 PUT web u1 105")
	for i := range 5 {
		many = append(many, fmt.Sprintf("%d PUT web u1 110", 40+i))
	}
	for _, c := range []struct {
		name, g, want string
		story         story
	}{
		{"around the violation, in order, without other keys", "G2", "Pod/a/web: PUT 100 PUT 100 PUT 100 PUT 100 PUT 110 !PUT 105 PUT 110 PUT 110 (9 out); written u1 100 u1 105 u1 110",
			story{ops: onePod, requests: many}},
		{"the last ones where none is at fault", "G1", "Pod/a/web: PUT 100 PUT 105 (0 out); written u1 100 u1 105 u1 110",
			story{ops: onePod, requests: []string{"15 PUT web u1 100", "25 PUT web u1 105"}}},
		{"a deletion", "G4", "Pod/a/web: PUT 110 DELETE 110 !PUT 110 (0 out); written u1 100 u1 105 u1 110 u1 0",
			story{ops: recreated[:4], requests: []string{"35 PUT web u1 110", "45 DELETE web", "47 PUT web u1 110"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := mustJudge(t, c.story.history(t)).Checks[c.g]
			if len(got.Evidence) == 0 {
				t.Fatalf("%s: no evidence", got.Verdict)
			}
			if s := evidenceOf(got.Evidence[0]); s != c.want {
				t.Errorf("got  %s\nwant %s", s, c.want)
			}
			first := got.Evidence[0].Requests[0]
			if first.Received.IsZero() || first.Applied == nil || first.Status != 200 || first.Effect == "" {
				t.Errorf("%+v", first)
			}
		})
	}
}

// TestEvidenceIsBounded: of thousands of violations each has a text up to the bound, and fewer
// have evidence.
func TestEvidenceIsBounded(t *testing.T) {
	s := story{}
	for i := range 60 {
		s.ops = append(s.ops, fmt.Sprintf("10 create p%d u%d %d", i, i, 100+i))
	}
	g1 := mustJudge(t, s.history(t)).Checks["G1"]
	if len(g1.Further) != maxExamples-1 || len(g1.Evidence) != maxEvidence {
		t.Errorf("%d further texts, %d with evidence", len(g1.Further), len(g1.Evidence))
	}
	for _, e := range g1.Evidence {
		if e.Name == "" || len(e.Requests) != 0 || len(e.Written) != 1 {
			t.Errorf("%+v", e)
		}
	}
}

// TestFieldsAreRead: what Fields writes is read back, whatever stands in paths and values.
func TestFieldsAreRead(t *testing.T) {
	d := fieldDiffer{}
	long := strings.Repeat("x", 80)
	d.compare("", map[string]any{
		"a": `q"; b: stored 1, expected 2`, "spec": map[string]any{`k: stored "x`: 1.0, "n": 3.0}, "list": []any{"…"}, "long": long, "last": `\`,
	}, map[string]any{
		"a": "b; c", "spec": map[string]any{`k: stored "x`: 2.0}, "list": []any{"; "}, "long": long + `"`, "last": `\"`,
	})
	var want []result.Difference
	for _, f := range []struct{ path, stored, expected string }{
		{"a", `"q\"; b: stored 1, expected 2"`, `"b; c"`}, {"last", `"\\"`, `"\\\""`}, {"list[0]", `"…"`, `"; "`},
		{"long", `"` + long[:59] + "…", `"` + long[:59] + "…"}, {`spec["k: stored \"x"]`, "1", "2"}, {"spec.n", "3", "nothing"},
	} {
		want = append(want, result.Difference{Path: f.path, Stored: f.stored, Expected: f.expected})
	}
	if diff := cmp.Diff(want, ParseFields(strings.Join(d.found, "; "))); diff != "" {
		t.Error(diff)
	}
	if got := ParseFields(strings.Join(append(d.found, "…"), "; ")); len(got) != len(want) {
		t.Errorf("with more left out: %d", len(got))
	}
	for _, text := range []string{"", "…", "not of ours", "a: stored 1", `a: stored "`} {
		if got := ParseFields(text); got != nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
