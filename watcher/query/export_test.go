package query

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/watches"
)

// Hubs is how many views are watched.
func (h *Handler) Hubs() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.hubs)
}

// SetMostWaiting is for a Handler that has no requests yet.
func (h *Handler) SetMostWaiting(n int) { h.waiting = newSlots(h.waiting.what, n) }

// Waiting is how many requests wait.
func (h *Handler) Waiting() int { return h.waiting.inUse() }

// Watching is how many watches are open.
func (h *Handler) Watching() int { return h.watchers.inUse() }

// SetPatience is for a Handler that has no requests yet.
func (h *Handler) SetPatience(d time.Duration) { h.patience = d }

// Cells are those of an object's row.
func Cells(k watches.Kind, raw []byte) ([]any, error) {
	b, err := appendRow(nil, k, raw, metav1.IncludeNone)
	if err != nil {
		return nil, err
	}
	var row struct{ Cells []any }
	return row.Cells, json.Unmarshal(b, &row)
}

// Field is what selectors see of an object of a resource: among all of its fields, and alone.
func Field(resource, name, raw string) (among, alone string) {
	s := newSelectable(kubeapi.BuiltInFields[resource])
	f, _ := s.find(name)
	var a, b attributes
	a.read(s.paths, object.Key{}, []byte(raw))
	b.read(newPaths([]kubeapi.Field{f}), object.Key{}, []byte(raw))
	return asFields{&a}.Get(name), asFields{&b}.Get(name)
}

// Matches evaluates selectors on an object with these labels and spec, as a list would
// and the slow way.
func Matches(labelText, fieldText, labelJSON, specJSON string) (got, want bool, err error) {
	if !json.Valid([]byte(labelJSON)) || !json.Valid([]byte(specJSON)) {
		return false, false, errors.New("no JSON")
	}
	var set map[string]string
	var spec map[string]any
	if err := json.Unmarshal([]byte(labelJSON), &set); err != nil {
		return false, false, err
	}
	if json.Unmarshal([]byte(specJSON), &spec) != nil {
		spec = nil
	}
	ls, err := labels.Parse(labelText)
	if err != nil {
		return false, false, err
	}
	fs, err := fields.ParseSelector(fieldText)
	if err != nil {
		return false, false, err
	}
	s := newSelectable(kubeapi.BuiltInFields["pods"])
	o := &options{Options: &kubeapi.Options{}}
	o.LabelSelector, o.FieldSelector = ls, fs
	if err := o.parseFields(s); err != nil {
		return false, false, err
	}
	raw := []byte(`{"spec":` + specJSON + `,"metadata":{"name":"x","labels":` + labelJSON + `}}`)
	if jsonscan.ValidWithin(raw, 100) != nil || duplicate(raw) {
		return false, false, errors.New("a key stands twice")
	}
	got = newMatcher("", o, s).object(object.Key{Name: "x"}, raw)
	values := fields.Set{"metadata.name": "x", "spec.hostNetwork": "false"}
	for name, v := range spec {
		switch v := v.(type) {
		case string:
			values["spec."+name] = v
		case bool:
			values["spec."+name] = strconv.FormatBool(v)
		case float64:
			return false, false, errors.New("of numbers the text counts")
		}
	}
	return got, ls.Matches(labels.Set(set)) && fs.Matches(values), nil
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
