package object_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/watcher/object"
)

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

func str(v any) string { s, _ := v.(string); return s }

func compact(t testing.TB, raw []byte) {
	t.Helper()
	c, err := jsonscan.Compact(raw)
	if err != nil || len(c) != len(raw) {
		t.Errorf("not compact JSON (%v): %s", err, raw)
	}
}

// checkScan compares Scan with encoding/json.
func checkScan(t testing.TB, in []byte) {
	t.Helper()
	m, err := object.Scan(in)
	if err != nil {
		return
	}
	if !json.Valid(in) {
		t.Fatalf("Scan accepts what is not JSON: %s", in)
	}
	if !utf8.Valid(in) {
		return // encoding/json replaces such bytes, Scan leaves them
	}
	top := decode(t, in).(map[string]any)
	meta, _ := top["metadata"].(map[string]any)
	for _, f := range []struct {
		name, got string
		want      any
	}{
		{"kind", m.Kind, top["kind"]},
		{"apiVersion", m.APIVersion, top["apiVersion"]},
		{"name", m.Name, meta["name"]},
		{"namespace", m.Namespace, meta["namespace"]},
		{"uid", m.UID, meta["uid"]},
		{"resourceVersion", m.ResourceVersion, meta["resourceVersion"]},
	} {
		if f.got != str(f.want) {
			t.Errorf("%s: got %q, want %q in %s", f.name, f.got, f.want, in)
		}
	}
	for name, r := range map[string]jsonscan.Range{"annotations": m.Annotations, "ownerReferences": m.OwnerReferences} {
		want := meta[name]
		if r.Empty() {
			if want != nil {
				t.Errorf("%s not found in %s", name, in)
			}
			continue
		}
		if got := decode(t, r.Of(in)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v in %s", name, got, want, in)
		}
	}
}

func checkStrip(t testing.TB, in []byte) {
	t.Helper()
	before := string(in)
	out, err := object.StripManagedFields(in)
	if string(in) != before {
		t.Fatalf("the input was written to: %s", in)
	}
	if err != nil {
		return
	}
	compact(t, out)
	want, _ := without(decode(t, in), []string{"metadata", "managedFields"})
	if got := decode(t, out); !reflect.DeepEqual(got, want) {
		t.Errorf("%s became %s", in, out)
	}
	if strings.Contains(string(in), `"managedFields":`) && strings.Contains(string(out), `"managedFields":[1`) {
		t.Errorf("managedFields are left: %s", out)
	}
}

func checkRemove(t testing.TB, in []byte, path []string) {
	t.Helper()
	out, err := object.Remove(in, path)
	if !json.Valid(in) {
		if err == nil {
			t.Errorf("Remove accepts what is not JSON: %s", in)
		}
		return
	}
	want, fits := without(decode(t, in), path)
	var pathErr *object.PathError
	if errors.As(err, &pathErr) {
		if fits && !duplicates(in) {
			t.Errorf("%s without %q: %v", in, path, err)
		}
		return
	}
	if err != nil {
		t.Errorf("%s without %q: %v", in, path, err)
		return
	}
	compact(t, out)
	if !fits {
		t.Errorf("%s without %q: went through although the path does not fit: %s", in, path, out)
	}
	if got := decode(t, out); !reflect.DeepEqual(got, want) && !duplicates(in) {
		t.Errorf("%s without %q became %s", in, path, out)
	}
	if again, err := object.Remove(out, path); err == nil && len(path) > 0 && !strings.ContainsAny(strings.Join(path, ""), "0123456789") && string(again) != string(out) {
		t.Errorf("%s without %q leaves something: %s", in, path, out)
	}
}

// duplicates reports whether a key stands twice in some object. The comparison
// with encoding/json is then off: it keeps the last, Remove deletes all.
func duplicates(in []byte) bool {
	b, err := json.Marshal(mustDecode(in))
	if err != nil {
		return true
	}
	return strings.Count(string(b), `":`) != strings.Count(string(mustCompact(in)), `":`)
}

func mustDecode(in []byte) any {
	var v any
	_ = json.Unmarshal(in, &v)
	return v
}

func mustCompact(in []byte) []byte {
	c, _ := jsonscan.Compact(in)
	return c
}

func checkSet(t testing.TB, in []byte, pairs []object.Pair) {
	t.Helper()
	const field = "annotations"
	out, err := object.SetAnnotations(in, pairs...)
	if err != nil {
		return
	}
	compact(t, out)
	want := decode(t, in).(map[string]any)
	if len(pairs) > 0 {
		meta := want["metadata"].(map[string]any)
		values, ok := meta[field].(map[string]any)
		if !ok {
			if meta[field] != nil {
				t.Fatalf("%s set although it is %v", field, meta[field])
			}
			values = map[string]any{}
			meta[field] = values
		}
		for _, p := range pairs {
			values[strings.ToValidUTF8(p.Key, "\uFFFD")] = strings.ToValidUTF8(p.Value, "\uFFFD")
		}
	}
	if got := decode(t, out); !reflect.DeepEqual(got, want) {
		t.Errorf("%s with %v became %s", in, pairs, out)
	}
}

func addInputs(f *testing.F, more ...any) {
	for _, in := range inputs {
		f.Add(append([]any{[]byte(in)}, more...)...)
	}
}

func FuzzScan(f *testing.F) {
	addInputs(f)
	f.Fuzz(func(t *testing.T, in []byte) { checkScan(t, in) })
}

func FuzzStrip(f *testing.F) {
	addInputs(f)
	f.Fuzz(func(t *testing.T, in []byte) { checkStrip(t, in) })
}

func FuzzRemove(f *testing.F) {
	addInputs(f, "spec.containers.0.env")
	addInputs(f, "metadata.name")
	f.Fuzz(func(t *testing.T, in []byte, path string) { checkRemove(t, in, strings.Split(path, ".")) })
}

func FuzzAnnotate(f *testing.F) {
	addInputs(f, "k", "v")
	f.Fuzz(func(t *testing.T, in []byte, key, value string) {
		if utf8.ValidString(key) && utf8.ValidString(value) {
			checkSet(t, in, []object.Pair{{Key: key, Value: value}, {Key: "second" + key, Value: "2"}})
		}
	})
}

// FuzzBuild holds the hot path to the promise: valid, compact, and different only by what the recipe says.
func FuzzBuild(f *testing.F) {
	addInputs(f)
	r := object.Recipe{APIVersion: "v1", Kind: "Pod", Masks: []object.Mask{{Path: []string{"spec", "containers", "0"}}, {Path: []string{"data"}}}}
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := object.Scan(in)
		if err != nil {
			return
		}
		o, err := r.Build(in, &m, "Pod", nil)
		if err != nil {
			return
		}
		compact(t, o.Raw)
		if duplicates(in) {
			return
		}
		want, _ := without(decode(t, in), []string{"metadata", "managedFields"})
		want, _ = without(want, []string{"metadata", "annotations", lastApplied})
		for _, mask := range r.Masks {
			want, _ = without(want, mask.Path)
		}
		top := want.(map[string]any)
		for k, v := range map[string]string{"kind": "Pod", "apiVersion": "v1"} {
			if _, ok := top[k]; !ok {
				top[k] = v
			}
		}
		if got := decode(t, o.Raw); !reflect.DeepEqual(got, want) {
			t.Errorf("%s became %s", in, o.Raw)
		}
	})
}
