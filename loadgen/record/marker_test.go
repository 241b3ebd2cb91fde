package record

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

// marker fills objects with texts that are not anywhere else.
type marker struct {
	random *rand.Rand
	all    []string
	base64 []string
}

const (
	markBegin = "zqj" // of each marker
	markerLen = len(markBegin) + 12
)

const letters = "abcdefghijklmnopqrstuvwxyz"

func (m *marker) next() string {
	text := []byte(markBegin)
	for range markerLen - len(markBegin) - 1 {
		text = append(text, letters[m.random.IntN(26)])
	}
	text = append(text, 'q') // a field whose name ends in env is treated otherwise
	m.all = append(m.all, string(text))
	return string(text)
}

// fill puts a marker into each text below v, keys of maps included.
func (m *marker) fill(v reflect.Value, depth int) {
	switch x := v.Addr().Interface().(type) {
	case *metav1.Time:
		*x = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		return
	case *metav1.MicroTime:
		*x = metav1.NewMicroTime(time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC))
		return
	case *resource.Quantity:
		*x = resource.MustParse("250Mi")
		return
	case *intstr.IntOrString:
		*x = intstr.FromString(m.next())
		return
	case *runtime.RawExtension:
		x.Raw = fmt.Appendf(nil, `{%q:[%q,{%q:true}]}`, m.next(), m.next(), m.next())
		return
	case *metav1.FieldsV1:
		*x = *metav1.NewFieldsV1(fmt.Sprintf(`{"f:metadata":{"f:labels":{".":{},"f:%s":{}},"f:%s":{"k:{\"name\":\"%s\"}":{},"v:\"%s\"":{},"i:0":{}}}}`, m.next(), m.next(), m.next(), m.next()))
		return
	case *metav1.TypeMeta:
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(m.next())
	case reflect.Pointer:
		if depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			m.fill(v.Elem(), depth-1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				m.fill(v.Field(i), depth)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			text := m.next() + m.next()
			m.base64 = append(m.base64, strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(text)), "="))
			v.SetBytes([]byte(text))
			return
		}
		if depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			m.fill(v.Index(0), depth-1)
			m.fill(v.Index(1), depth-1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		if key.Kind() != reflect.String {
			return
		}
		m.fill(key, depth)
		m.fill(value, depth-1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Bool:
		v.SetBool(true)
	}
}

// marked returns an object of the kind with a marker in each text.
func (m *marker) marked(t *testing.T, gvk schema.GroupVersionKind) []byte {
	t.Helper()
	o, err := scheme.Scheme.New(gvk)
	if err != nil {
		t.Fatal(err)
	}
	m.fill(reflect.ValueOf(o).Elem(), 9)
	o.GetObjectKind().SetGroupVersionKind(gvk)
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestNothingShows: of no kind of object in the API does any text remain, whatever field or key it is in.
func TestNothingShows(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	p, kinds, texts := newMasker(newSalt(), true), 0, 0
	for gvk := range scheme.Scheme.AllKnownTypes() {
		// Those of the wire only, and reviews that are never stored.
		if gvk.Version == runtime.APIVersionInternal || gvk.Group == "apiextensions.k8s.io" || strings.HasSuffix(gvk.Kind, "Options") || strings.HasSuffix(gvk.Kind, "List") || gvk.Kind == "WatchEvent" {
			continue
		}
		m := &marker{random: rand.New(rand.NewPCG(seed, 1))}
		before := m.marked(t, gvk)
		after, err := p.object(gvk, before)
		if err != nil {
			t.Fatalf("%s: %v", gvk, err)
		}
		if !json.Valid(after) {
			t.Errorf("%s: not JSON: %s", gvk, after)
		}
		for _, text := range shown(string(after), m) {
			t.Errorf("%s: %s is still in %s", gvk, text, around(string(after), text))
		}
		if left := shown(string(before), m); len(left) < len(m.all)*9/10 || len(m.base64) > 0 && len(left) == len(m.all) {
			t.Errorf("%s: the search finds %d of %d markers where nothing is replaced", gvk, len(left), len(m.all)+len(m.base64))
		}
		// A marker that became a filler has grown to its length.
		if grown := len(after) - len(before); gvk.Kind != secretKind && gvk.Kind != configMapKind && (grown < 0 || grown%(filled-markerLen) != 0) {
			t.Errorf("%s: %d bytes became %d", gvk, len(before), len(after))
		}
		for _, kept := range []string{`"250Mi"`, `":7`, "2026-01-02T03:04:05"} {
			if want, got := bytes.Count(before, []byte(kept)), bytes.Count(after, []byte(kept)); got != want {
				t.Errorf("%s: %s is there %d times, was %d", gvk, kept, got, want)
			}
		}
		if o, err := scheme.Scheme.New(gvk); err != nil || json.Unmarshal(after, o) != nil {
			t.Errorf("%s: what became of it cannot be decoded: %v", gvk, err)
		}
		kinds, texts = kinds+1, texts+len(m.all)
	}
	if kinds < 60 || texts < 5000 {
		t.Errorf("only %d texts of %d kinds were judged", texts, kinds)
	}
	t.Logf("%d texts of %d kinds", texts, kinds)
}

// shown lists the markers in a text, in whatever case.
func shown(text string, m *marker) (found []string) {
	text = strings.ToLower(text)
	all := map[string]bool{}
	for _, one := range m.all {
		all[one] = true
	}
	for rest := text; ; {
		i := strings.Index(rest, markBegin)
		if i < 0 || i+markerLen > len(rest) {
			break
		}
		if rest = rest[i:]; all[rest[:markerLen]] {
			found = append(found, rest[:markerLen])
		}
		rest = rest[len(markBegin):]
	}
	for _, one := range m.base64 {
		if strings.Contains(text, strings.ToLower(one)) {
			found = append(found, one)
		}
	}
	return found
}

func around(text, part string) string {
	i := strings.Index(strings.ToLower(text), strings.ToLower(part))
	return text[max(0, i-60):min(len(text), i+60)]
}

// TestDataNeverShow: without anonymising, a Secret's and a ConfigMap's data do not show, nor a Secret's keys; the rest
// is as it was.
func TestDataNeverShow(t *testing.T) {
	const object = `{"apiVersion":"v1","kind":"%s","metadata":{"name":"db","namespace":"shop","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"data\":{\"mykeyzqj\":\"VALUEzqj\"}}","team":"TEAMzqj"},` +
		`"managedFields":[{"manager":"kubectl","operation":"Update","fieldsV1":{"f:data":{".":{},"f:mykeyzqj":{}},"f:type":{}}}]},` +
		`"data":{"mykeyzqj":"VkFMVUV6cWo=","other":"dmFsdWU="},"stringData":{"mykeyzqj":"VALUEzqj"},"binaryData":{"mykeyzqj":"VkFMVUV6cWo="},"type":"Opaque"}`
	p := newMasker(newSalt(), false)
	for kind, left := range map[string][]string{"Secret": nil, "ConfigMap": {"mykeyzqj", "TEAMzqj"}, "Pod": {"mykeyzqj", "TEAMzqj", "VALUEzqj", "VkFMVUV6cWo"}} {
		before := fmt.Sprintf(object, kind)
		after, err := p.object(core(kind), []byte(before))
		if err != nil || !json.Valid(after) {
			t.Fatalf("%s: %v: %s", kind, err, after)
		}
		for _, text := range []string{"mykeyzqj", "TEAMzqj", "VALUEzqj", "VkFMVUV6cWo"} {
			want := false
			for _, l := range left {
				want = want || l == text
			}
			if strings.Contains(string(after), text) != want {
				t.Errorf("%s: that %s is there should be %v: %s", kind, text, want, after)
			}
		}
		for _, text := range []string{`"name":"db"`, `"namespace":"shop"`, `"manager":"kubectl"`, `"type":"Opaque"`, `"kubectl.kubernetes.io/last-applied-configuration"`} {
			if !strings.Contains(string(after), text) {
				t.Errorf("%s lacks %s: %s", kind, text, after)
			}
		}
		if kind == "Pod" && string(after) != before {
			t.Errorf("a pod was changed: %s", after)
		}
		// Keys agree between the data and managedFields; equal values have equal fillers.
		var got struct {
			Metadata struct {
				ManagedFields []struct {
					FieldsV1 map[string]map[string]any `json:"fieldsV1"`
				} `json:"managedFields"`
			} `json:"metadata"`
			Data, BinaryData map[string]string
		}
		if err := json.Unmarshal(after, &got); err != nil {
			t.Fatal(err)
		}
		for key, value := range got.BinaryData {
			if _, ok := got.Metadata.ManagedFields[0].FieldsV1["f:data"]["f:"+key]; !ok || got.Data[key] != value {
				t.Errorf("%s: key %s, value %s: %s", kind, key, value, after)
			}
		}
		for key, value := range got.Data {
			if kind == "Secret" && len(value) != filled {
				t.Errorf("the value of %s has the length %d", key, len(value))
			}
		}
	}
}
