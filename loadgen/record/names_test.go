package record

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var salt = []byte("a salt for tests")

func core(kind string) schema.GroupVersionKind { return corev1.SchemeGroupVersion.WithKind(kind) }

// TestOneToOne: no two words share a pseudonym, however short they are.
func TestOneToOne(t *testing.T) {
	for name, keep := range map[string]map[string]bool{"all": vocabulary(), "strict": nil} {
		n, seen, same := newNames(salt), map[string]string{}, 0
		try := func(word string) {
			got := n.text(word, keep)
			if other, ok := seen[got]; ok {
				t.Fatalf("%s: %s and %s become %s", name, word, other, got)
			}
			seen[got] = word
			switch {
			case keep[word] != (got == word) && keep[word]:
				t.Fatalf("%s was to stay and became %s", word, got)
			case len(got) != len(word):
				t.Fatalf("%s became %s", word, got)
			case got == word && !keep[word] && len(word) > 2:
				same++
			}
		}
		for i := 0; i < 36*36*36; i += 5 {
			const all = letters + digits
			try(string([]byte{all[i%36], all[i/36%36], all[i/1296]}))
		}
		for i := range 26 * 26 {
			try(string([]byte{letters[i%26], letters[i/26]}))
		}
		for i := range 3000 {
			try(fmt.Sprintf("web%04d", i))
			try(fmt.Sprintf("%06d", i))
		}
		for word := range keep {
			if _, there := seen[n.text(word, keep)]; !there && !strings.ContainsAny(word, "-$") {
				try(word)
			}
		}
		if same > 10 { // by chance 3
			t.Errorf("%s: %d words are unchanged", name, same)
		}
	}
}

// TestSalt: another file has other pseudonyms and fillers, so that nobody can try likely words; one has the same ones.
func TestSalt(t *testing.T) {
	for what, of := range map[string]func(*masker) string{
		"name":   func(m *masker) string { return m.name("payments") },
		"filler": func(m *masker) string { return m.filler("aHVudGVyMg==") },
	} {
		a, again, b := of(newMasker(salt, true)), of(newMasker(salt, true)), of(newMasker([]byte("another"), true))
		if a != again || a == b || a == "payments" {
			t.Errorf("%s: %q and %q with one salt, %q with another", what, a, again, b)
		}
	}
	if got := newMasker(salt, false).name("payments"); got != "payments" {
		t.Errorf("%q without anonymising", got)
	}
}

func TestShapes(t *testing.T) {
	n := newNames(salt)
	for _, tc := range []struct{ text, shape string }{ // of the shape, a is another letter, 0 another digit
		{"default", "default"},
		{"kube-system", "kube-system"},
		{"app.kubernetes.io/name", "app.kubernetes.io/name"},
		{"acme.example.org/Owner-1", "aaaa.aaaaaaa.aaa/Aaaaa-0"},
		{"10.96.0.0/12", "00.00.0.0/00"},
		{"(see 192.168.17.4).", "(aaa 000.000.00.0)."},
		{"pod 01234567-89ab!", "pod 00000000-00aa!"},
		{"über", "aaaaa"},
		{"", ""},
		{"--", "--"},
		{"\x80x", "aa"},
	} {
		for range 2 { // the second time from the cache
			got := n.text(tc.text, vocabulary())
			for i := range got {
				class := map[byte]string{'a': lower, 'A': upper, '0': digits}[tc.shape[i]]
				if got[i] != tc.shape[i] && (class == "" || !strings.Contains(class, got[i:i+1])) {
					t.Errorf("%q became %q, want the shape %q", tc.text, got, tc.shape)
				}
			}
			if len(got) != len(tc.shape) {
				t.Errorf("%q became %q, want the shape %q", tc.text, got, tc.shape)
			}
		}
	}
}

// TestNamesOfFieldsAsData: a key that is called like a field of Kubernetes changes nothing where it is data, a label or
// an annotation.
func TestNamesOfFieldsAsData(t *testing.T) {
	keys := []string{"fieldsV1", "managedFields", "env", "labels", "selector", "annotations", "data", "value", "args",
		"limits", "storage", "min", "max", "default"}
	for _, key := range keys {
		for _, tc := range []struct {
			kind, object string
			all          bool
		}{
			{"Secret", `{"data":{%q:"31415926"},"metadata":{"name":"a"}}`, false},
			{"Secret", `{"data":{%q:"31415926"},"metadata":{"name":"a"}}`, true},
			{"ConfigMap", `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}},"binaryData":{%q:"31415926"}}`, false},
			{"ConfigMap", `{"binaryData":{%q:"31415926"}}`, true},
			{"Secret", `{"metadata":{"annotations":{%q:"31415926"}}}`, false},
			{"Pod", `{"metadata":{"annotations":{%q:"default 31415926"}}}`, true},
		} {
			got, err := newMasker(salt, tc.all).object(core(tc.kind), fmt.Appendf(nil, tc.object, key))
			if err != nil || strings.Contains(string(got), "31415926") {
				t.Errorf("%s, anonymised %v: %s, %v", tc.kind, tc.all, got, err)
			}
		}
	}
	got, err := newMasker(salt, false).object(core("Secret"), []byte(`{"data":{"token":"eA=="},"stringData":{"username":"x"},"metadata":{"managedFields":[{"fieldsV1":{"f:data":{".":{},"f:token":{}},"f:stringData":{"f:username":{}}}}]}}`))
	if err != nil || strings.Contains(string(got), "token") || strings.Contains(string(got), "username") || !strings.Contains(string(got), `"f:data":{".":{}`) {
		t.Errorf("keys of a Secret: %s, %v", got, err)
	}
	got, err = newMasker(salt, true).object(core("Invoice"), []byte(`{"spec":{"fieldsV1":{"initech":1}},"metadata":{"managedFields":[{"fieldsV1":{"initech":{}}}]}}`))
	if err != nil || strings.Contains(string(got), "initech") {
		t.Errorf("%s, %v", got, err)
	}
}

// TestLabelsStaySelectable: whatever a label is called, what selects by it still does.
func TestLabelsStaySelectable(t *testing.T) {
	type expression struct {
		Key    string
		Values []string
	}
	type terms struct {
		MatchLabels      map[string]string
		MatchExpressions []expression
	}
	for _, key := range []string{"storage", "limits", "min", "default", "used", "command", "env", "annotations", "fieldsV1", "selector", "apiVersion", "resourceVersion"} {
		for _, value := range []string{"4111111", "default", "v7", "node/v1"} {
			object := strings.NewReplacer("K", key, "V", value).Replace(`{"metadata":{"labels":{"K":"V"}},"spec":{"selector":{"matchLabels":{"K":"V"}},"nodeSelector":{"K":"V"},"affinity":{"matchExpressions":[{"key":"K","values":["V"]}]}}}`)
			data, err := newMasker(salt, true).object(core("Pod"), []byte(object))
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Metadata struct{ Labels map[string]string }
				Spec     struct {
					Selector, Affinity terms
					NodeSelector       map[string]string
				}
			}
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			e := got.Spec.Affinity.MatchExpressions[0]
			label, ok := got.Metadata.Labels[e.Key]
			if !ok || !slices.Contains(e.Values, label) || got.Spec.Selector.MatchLabels[e.Key] != label || got.Spec.NodeSelector[e.Key] != label || label == "4111111" {
				t.Errorf("%s becomes %s", object, data)
			}
		}
	}
}

// TestAPIVersions: objects and the header name a resource alike.
func TestAPIVersions(t *testing.T) {
	m := newMasker(salt, true)
	for _, version := range []string{"v1", "v1beta4", "stable"} {
		want := m.name("acme.example") + "/" + m.name(version)
		got, err := m.object(core("Invoice"), fmt.Appendf(nil, `{"apiVersion":"acme.example/%s"}`, version))
		if err != nil || string(got) != fmt.Sprintf(`{"apiVersion":%q}`, want) {
			t.Errorf("%s: %s, %v, want %s", version, got, err, want)
		}
	}
	for _, kind := range []string{"customresourcedefinitions", "CustomResourceDefinition", "apiservices", "APIService", "endpointslices", "ingresses", "v1"} {
		if got := m.name(kind); got != kind {
			t.Errorf("%s becomes %s", kind, got)
		}
	}
}

// TestKeptValues: what has a type of its own stays, where the API has such a field.
func TestKeptValues(t *testing.T) {
	for _, tc := range []struct{ kind, object, want string }{
		{"Pod", `{"spec":{"containers":[{"resources":{"limits":{"cpu":"8439e21","memory":"1.5Gi"}}}]}}`, `"cpu":"8439e21","memory":"1.5Gi"`},
		{"Pod", `{"metadata":{"generation":3,"resourceVersion":"12"}}`, `"generation":3,"resourceVersion":"12"`},
		{"Pod", `{"metadata":{"creationTimestamp":"2026-01-02T03:04:05Z"}}`, `"2026-01-02T03:04:05Z"`},
		{"Pod", `{"spec":{"clusterIP":"None","ports":[{"containerPort":80,"protocol":"TCP"}]}}`, `"protocol":"TCP"`},
		{"Pod", `{"spec":{"containers":[{"env":[{"name":"default","valueFrom":{"secretKeyRef":{"name":"default","key":"token"}}}]}]}}`,
			`"valueFrom":{"secretKeyRef":{"key":"token","name":"default"}}`},
		{"Service", `{"spec":{"ports":[{"port":80,"targetPort":8080}]}}`, `"port":80,"targetPort":8080`},
		{"Service", `{"spec":{"ports":[{"targetPort":"100%"}]}}`, `"100%"`},
		{"Invoice", `{"metadata":{"creationTimestamp":"2026-01-02T03:04:05Z","resourceVersion":"7"}}`, `"2026-01-02T03:04:05Z","resourceVersion":"7"`},
		{"ResourceQuota", `{"spec":{"hard":{"pods":"10"}},"status":{"used":{"pods":"12"}}}`, `"10".*"12"`},
		{"Pod", `{"a\u0062c":"\u0041<&"}`, `<&"`},
	} {
		got, err := newMasker(salt, true).object(core(tc.kind), []byte(tc.object))
		if want := strings.Split(tc.want, ".*"); err != nil || !strings.Contains(string(got), want[0]) || !strings.Contains(string(got), want[len(want)-1]) {
			t.Errorf("%s became %s, %v; want %s", tc.object, got, err, tc.want)
		}
	}
}

// FuzzObject: valid JSON stays valid, and becomes the same each time.
func FuzzObject(f *testing.F) {
	f.Add([]byte(`{"kind":"Pod","metadata":{"name":"web-0","annotations":{"a":"b"},"managedFields":[{"fieldsV1":{"k:{\"a\":1}":{},"v:x":{}}}]},"env":[{"value":1.5e3}]}`), true, "Pod")
	f.Add([]byte(`{"data":{"a":"b"},"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"x"}}`), false, "Secret")
	f.Add([]byte(`["10.0.0.1:80",-0.0012E+5,0,"日本",{"a":1}x`), true, "")
	f.Fuzz(func(t *testing.T, object []byte, all bool, kind string) {
		got, err := newMasker(salt, all).object(core(kind), object)
		if valid := json.Valid(object); (all || kind == secretKind) && valid != (err == nil) {
			t.Fatalf("%q: %v", object, err)
		} else if err != nil || !valid {
			return
		}
		again, err := newMasker(salt, all).object(core(kind), object)
		if err != nil || !json.Valid(got) || string(again) != string(got) {
			t.Fatalf("%q became %q, then %q", object, got, again)
		}
	})
}
