package kubeapi

import (
	"encoding/json"
	"strconv"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// TestSourceOfEvents is the reporting component of those that have no source, as those have
// not that are made by the newer API.
func TestSourceOfEvents(t *testing.T) {
	for raw, want := range map[string]string{
		`{"source":{"component":"kubelet"},"reportingComponent":"other"}`: "kubelet",
		`{"reportingComponent":"default-scheduler","source":{}}`:          "default-scheduler",
		`{}`: "",
	} {
		if got := BuiltInFields["events"].Of(Name{}, []byte(raw)).Get("source"); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

// FuzzSelectors: a selector on one object says the same as on its decoded content.
func FuzzSelectors(f *testing.F) {
	f.Add("app=web", "spec.nodeName=n1", `{"app":"web"}`, `{"nodeName":"n1"}`)
	f.Add("app,!tier", "spec.hostNetwork!=true", `{"app":"w\u0065b","a":"b"}`, `{"hostNetwork":true}`)
	f.Add("a,!a,b", "status.phase!=A,status.phase!=B,spec.nodeName=n,spec.nodeName!=m", `{"a":"b"}`, `{"nodeName":"n"}`)
	f.Add("a in (b,c)", "metadata.name=x", `null`, `[]`)
	f.Fuzz(func(t *testing.T, labelText, fieldText, labelJSON, specJSON string) {
		var set map[string]string
		var spec any
		if json.Unmarshal([]byte(labelJSON), &set) != nil || json.Unmarshal([]byte(specJSON), &spec) != nil {
			t.Skip()
		}
		o := &Options{}
		var err error
		if o.LabelSelector, err = labels.Parse(labelText); err != nil {
			t.Skip()
		}
		if o.FieldSelector, err = fields.ParseSelector(fieldText); err != nil || BuiltInFields["pods"].Check(o.FieldSelector) != nil {
			t.Skip()
		}
		raw := []byte(`{"spec":` + specJSON + `,"metadata":{"name":"x","labels":` + labelJSON + `}}`)
		if jsonscan.ValidWithin(raw, 100) != nil || duplicate(raw) {
			t.Skip()
		}
		values := fields.Set{"metadata.name": "x", "spec.hostNetwork": "false"}
		members, _ := spec.(map[string]any)
		for name, v := range members {
			switch v := v.(type) {
			case string:
				values["spec."+name] = v
			case bool:
				values["spec."+name] = strconv.FormatBool(v)
			case float64:
				t.Skip() // of numbers the text counts
			}
		}
		want := o.LabelSelector.Matches(labels.Set(set)) && o.FieldSelector.Matches(values)
		if got := o.Selects(BuiltInFields["pods"].Of(Name{Name: "x"}, raw)); got != want {
			t.Fatalf("labels %s, spec %s: %q and %q match: %t, want %t", labelJSON, specJSON, labelText, fieldText, got, want)
		}
	})
}

// duplicate reports whether an object within b has a key twice, or one that differs from
// what encoding/json makes of it.
func duplicate(b []byte) bool {
	seen := map[string]bool{}
	for key, value := range jsonscan.Members(b) {
		text := jsonscan.Unquote(key)
		if seen[text] || !utf8.Valid(key) || !utf8.Valid(value) || duplicate(value) {
			return true
		}
		seen[text] = true
	}
	return false
}
