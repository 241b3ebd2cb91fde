package object_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/watcher/object"
)

func TestScanFindsWhatEncodingJSONFinds(t *testing.T) {
	for _, in := range append(inputs, string(podJSON("web-1"))) {
		checkScan(t, []byte(in))
	}
}

func TestBuild(t *testing.T) {
	add := object.Recipe{APIVersion: "v1", Kind: "Pod"}
	tests := []struct {
		name   string
		recipe object.Recipe
		in     string
		want   string
	}{
		{"list item gets kind and apiVersion", add, `{"metadata":{"name":"a"}}`, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}`},
		{"only apiVersion lacks", add, `{"kind":"X","metadata":{"name":"a"}}`, `{"apiVersion":"v1","kind":"X","metadata":{"name":"a"}}`},
		{"both are there", add, `{"kind":"X","apiVersion":"y","metadata":{"name":"a"}}`, `{"kind":"X","apiVersion":"y","metadata":{"name":"a"}}`},
		{"managedFields first", add, `{"kind":"P","apiVersion":"v1","metadata":{"managedFields":[{}],"name":"a"}}`, `{"kind":"P","apiVersion":"v1","metadata":{"name":"a"}}`},
		{"managedFields kept", object.Recipe{KeepManagedFields: true}, `{"metadata":{"managedFields":[{}],"name":"a"}}`, `{"metadata":{"managedFields":[{}],"name":"a"}}`},
		{"white space goes", add, "{ \"metadata\" : {\"name\" :\n\"a b\"} }", `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a b"}}`},
		{
			"masks and managedFields in one pass",
			object.Recipe{Masks: []object.Mask{{Kind: "Pod", Path: []string{"spec", "containers", "0", "env"}}, {Kind: "Pod", Path: []string{"spec", "secret"}}}},
			`{"metadata":{"name":"a","managedFields":[{}]},"spec":{"containers":[{"env":[1]},{"env":[2]}],"secret":"s"}}`,
			`{"metadata":{"name":"a"},"spec":{"containers":[{},{"env":[2]}]}}`,
		},
		{
			"mask of another namespace",
			object.Recipe{Masks: []object.Mask{{Kind: "Pod", Namespace: "n1", Path: []string{"spec"}}}},
			`{"metadata":{"name":"a","namespace":"n2"},"spec":{}}`,
			`{"metadata":{"name":"a","namespace":"n2"},"spec":{}}`,
		},
		{
			"mask of this namespace",
			object.Recipe{Masks: []object.Mask{{Kind: "Pod", Namespace: "n2", Path: []string{"spec"}}}},
			`{"metadata":{"name":"a","namespace":"n2"},"spec":{}}`,
			`{"metadata":{"name":"a","namespace":"n2"}}`,
		},
		{
			"what kubectl applied repeats masked fields",
			object.Recipe{Masks: []object.Mask{{Kind: "Secret", Path: []string{"data"}}}},
			`{"metadata":{"name":"a","annotations":{"k":"v","kubectl.kubernetes.io/last-applied-configuration":"{\"data\":{\"k\":\"canary\"}}"}},"data":{"k":"canary"}}`,
			`{"metadata":{"name":"a","annotations":{"k":"v"}}}`,
		},
		{
			"what kubectl applied, the key escaped and the value no JSON",
			object.Recipe{Masks: []object.Mask{{Kind: "Secret", Path: []string{"data"}}}},
			`{"metadata":{"name":"a","annotations":{"kubectl.kubernetes.io\/last-applied-configuration":"data: canary"}}}`,
			`{"metadata":{"name":"a","annotations":{}}}`,
		},
		{
			"what kubectl applied stays where no mask applies",
			object.Recipe{Masks: []object.Mask{{Kind: "Secret", Namespace: "n1", Path: []string{"data"}}}},
			`{"metadata":{"name":"a","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}}}`,
			`{"metadata":{"name":"a","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}}}`,
		},
		{
			"managedFields repeat the values of masked sets and the keys of masked lists",
			object.Recipe{KeepManagedFields: true, Masks: []object.Mask{{Kind: "Pod", Path: []string{"spec", "hostAliases"}}}},
			`{"metadata":{"name":"a","managedFields":[{"fieldsV1":{"f:spec":{"f:hostAliases":{"k:{\"ip\":\"canary\"}":{}}}}}]},"spec":{"hostAliases":[{"ip":"canary"}]}}`,
			`{"metadata":{"name":"a"},"spec":{}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := []byte(tt.in)
			m, err := object.Scan(in)
			if err != nil {
				t.Fatal(err)
			}
			o, err := tt.recipe.Build(in, &m, "Pod", nil)
			if err != nil {
				t.Fatal(err)
			}
			if string(o.Raw) != tt.want {
				t.Errorf("got  %s\nwant %s", o.Raw, tt.want)
			}
			if cap(o.Raw) > len(o.Raw) && !strings.Contains(tt.name, "white") {
				t.Errorf("Raw has capacity %d for %d bytes", cap(o.Raw), len(o.Raw))
			}
		})
	}
}

func TestBuildFailsClosed(t *testing.T) {
	r := object.Recipe{Masks: []object.Mask{{Kind: "Pod", Path: []string{"spec", "containers", "env"}}}}
	in := []byte(`{"metadata":{"name":"a"},"spec":{"containers":[{"env":["canary"]}]}}`)
	m, err := object.Scan(in)
	if err != nil {
		t.Fatal(err)
	}
	o, err := r.Build(in, &m, "Pod", nil)
	var path *object.PathError
	if !errors.As(err, &path) || o != nil {
		t.Errorf("got %v, %v; want a PathError and no object", o, err)
	}
	if _, err := object.Parse([]byte(`{"kind":"Pod","metadata":{"namespace":"a"}}`)); !errors.Is(err, object.ErrNoName) {
		t.Errorf("without a name: got %v, want ErrNoName", err)
	}
}

func TestIdentityDoesNotPointIntoTheBytes(t *testing.T) {
	in := podJSON("web-1")
	m, err := object.Scan(in)
	if err != nil {
		t.Fatal(err)
	}
	var r object.Recipe
	first, err := r.Build(in, &m, "Pod", nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := r.Build(in, &m, "Pod", first)
	if err != nil {
		t.Fatal(err)
	}
	for i := range in {
		in[i] = 'X'
	}
	for _, o := range []*object.Object{first, second} {
		if o.Key.String() != "Pod/team-a/web-1" || o.UID != "0b6f4c0e-8c0c-4f0b-9d7e-2f1f0a5f7c11" {
			t.Errorf("identity follows the buffer: %s %s", o.Key, o.UID)
		}
	}
}

func TestStripManagedFields(t *testing.T) {
	for _, in := range inputs {
		checkStrip(t, []byte(in))
	}
}

func TestRemove(t *testing.T) {
	for _, in := range inputs {
		for _, path := range []string{"metadata", "metadata.name", "data.a", "spec.containers.0", "spec.containers.0.env", "spec.containers.1.x", "spec.containers.env", "spec.containers.00", "a", "0"} {
			checkRemove(t, []byte(in), strings.Split(path, "."))
		}
	}
	got, err := object.Remove([]byte(`{"a":[0,1,2,3],"b":1,"c":2}`), []string{"a", "0"}, []string{"a", "1"}, []string{"a", "3"}, []string{"b"}, []string{"c"})
	if err != nil || string(got) != `{"a":[2]}` {
		t.Errorf("several at once: %s, %v", got, err)
	}
	if _, err := object.Remove([]byte(`{}`), nil); err == nil {
		t.Error("an empty path was accepted")
	}
	if got, err := object.Remove([]byte(` 7 `)); err != nil || string(got) != "7" {
		t.Errorf("no path: %s, %v", got, err)
	}
}

func TestSetAnnotations(t *testing.T) {
	pairs := []object.Pair{{"k", "new"}, {`esc"\`, "a\nb"}, {"z", ""}}
	for _, in := range inputs {
		checkSet(t, []byte(in), pairs)
	}
	got, err := object.SetAnnotations([]byte(`{"metadata":{"annotations":{"a":"1","k":"2","z":"3"}},"spec":1}`), object.Pair{"k", "9"})
	if want := `{"metadata":{"annotations":{"a":"1","k":"9","z":"3"}},"spec":1}`; err != nil || string(got) != want {
		t.Errorf("a replaced value moves: %s, %v", got, err)
	}
}

func TestOwners(t *testing.T) {
	o, ok, err := object.ControllerOf(podJSON("a"))
	if want := (object.Owner{"apps/v1", "ReplicaSet", "web-7d4b9c", "5a1e9a53-62a2-4e0c-a0d8-0d1c62f9e2f3", true}); err != nil || !ok || o != want {
		t.Errorf("got %v %v %v, want %v", o, ok, err, want)
	}
	tests := map[string]string{
		`{"metadata":{"ownerReferences":[{"name":"a"},{"name":"b"}]}}`:                    "a",
		`{"metadata":{"ownerReferences":[{"name":"a"},{"name":"b","controller":true}]}}`:  "b",
		`{"metadata":{"ownerReferences":[{"name":"a","controller":false},{"name":"b"}]}}`: "a",
		`{"metadata":{"ownerReferences":[]}}`:                                             "",
		`{"metadata":{"ownerReferences":null}}`:                                           "",
		`{"metadata":{}}`:                                                                 "",
	}
	for in, want := range tests {
		o, ok, err := object.ControllerOf([]byte(in))
		if err != nil || ok != (want != "") || o.Name != want {
			t.Errorf("%s: got %q %v %v, want %q", in, o.Name, ok, err, want)
		}
	}
}

func node(rv int, managed, heartbeat1, heartbeat2, status string) []byte {
	return fmt.Appendf(nil, `{"kind":"Node","metadata":{"name":"n"%s,"resourceVersion":"%d"},"status":{"conditions":[{"type":"A","lastHeartbeatTime":"%s","status":"%s"},{"lastHeartbeatTime":"%s","type":"B"}],"images":[]}}`,
		managed, rv, heartbeat1, status, heartbeat2)
}

func TestEqualIgnoringHeartbeat(t *testing.T) {
	base := node(1, "", "t1", "t1", "True")
	tests := []struct {
		name  string
		other []byte
		want  bool
	}{
		{"itself", base, true},
		{"heartbeat and version", node(22222, "", "t2 longer", "t3", "True"), true},
		{"managedFields appeared", node(2, `,"managedFields":[{"time":"x"}]`, "t2", "t2", "True"), true},
		{"a condition changed", node(2, "", "t2", "t2", "False"), false},
		{"one condition more", bytes.Replace(base, []byte(`"images"`), []byte(`"more":1,"images"`), 1), false},
		{"a longer tail", append(bytes.TrimSuffix(bytes.Clone(base), []byte("}")), `,"x":1}`...), false},
		{"no JSON", []byte("{"), false},
	}
	for _, tt := range tests {
		if got := object.EqualIgnoring(base, tt.other, object.HeartbeatPaths); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

func TestMaskValidate(t *testing.T) {
	for _, tt := range []struct {
		mask object.Mask
		want string
	}{
		{object.Mask{Kind: "Secret", Path: []string{"data"}}, ""},
		{object.Mask{Path: []string{"data"}}, "no kind"},
		{object.Mask{Kind: "Secret"}, "empty path"},
		{object.Mask{Kind: "Secret", Path: []string{"a", ""}}, "empty segment"},
		{object.Mask{Kind: "Secret", Path: []string{"metadata", "name"}}, "identifies"},
	} {
		err := tt.mask.Validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: got %v, want %q", tt.mask, err, tt.want)
		}
	}
}

func TestContentIsNeverPrinted(t *testing.T) {
	o, err := object.Parse([]byte(`{"kind":"Secret","metadata":{"name":"s","namespace":"n"},"data":{"k":"canary"}}`))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	slog.New(slog.NewTextHandler(&out, nil)).Info("object", "o", o)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("object", "o", o)
	fmt.Fprintf(&out, "%v %s %+v", o, o, o)
	if got := out.String(); strings.Contains(got, "canary") || strings.Count(got, "Secret/n/s") != 5 {
		t.Errorf("printed: %s", got)
	}
}
