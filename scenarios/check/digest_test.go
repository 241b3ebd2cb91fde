package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

func digest(t *testing.T, o Raw, r Rules) history.StateRecord {
	t.Helper()
	if o.Side == "" {
		o.Side = history.SideApiserver
	}
	rec, err := Digest(o, r)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func TestDigestPairs(t *testing.T) {
	pod := func(meta, spec string) string {
		return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"a","uid":"u1","resourceVersion":"7"` + meta + `},"spec":` + spec + `}`
	}
	node := func(rv, beat, status string) string {
		return `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","resourceVersion":"` + rv + `"},"status":{"conditions":[{"type":"Ready","lastHeartbeatTime":"` + beat + `","status":"` + status + `"}]}}`
	}
	env := Rules{Masks: []Mask{{Kind: "Pod", Path: []string{"spec", "containers", "0", "env"}}}}
	for _, c := range []struct {
		name       string
		rules      Rules
		apiserver  string
		apiVersion string
		kind       string
		storage    string
		same       bool
	}{
		{name: "key order and escapes", same: true,
			apiserver: pod(`,"labels":{"a":"<","b":"2"}`, `{}`), storage: `{"spec":{},"metadata":{"labels":{"b":"2","a":"\u003c"},"resourceVersion":"7","uid":"u1","namespace":"a","name":"web"},"kind":"Pod","apiVersion":"v1"}`},
		{name: "keys beyond the basic plane, one given twice", same: true, kind: "Pod",
			apiserver: pod("", `{"\ud83d\ude00":1,"\uffee":2}`), storage: pod("", `{"\uffee":0,"\uffee":2,"😀":1}`)},
		{name: "managedFields removed", same: true, apiserver: pod(`,"managedFields":[{"a":1}]`, `{}`), storage: pod("", `{}`)},
		{name: "managedFields left in", apiserver: pod(`,"managedFields":[{"a":1}]`, `{}`), storage: pod(`,"managedFields":[{"a":1}]`, `{}`)},
		{name: "managedFields kept on request", same: true, rules: Rules{KeepManagedFields: true},
			apiserver: pod(`,"managedFields":[{"a":1}]`, `{}`), storage: pod(`,"managedFields":[{"a":1}]`, `{}`)},
		{name: "masked field removed", same: true, rules: env,
			apiserver: pod("", `{"containers":[{"name":"c","env":[{"name":"X"}]}]}`), storage: pod("", `{"containers":[{"name":"c"}]}`)},
		{name: "masked field left in", rules: env,
			apiserver: pod("", `{"containers":[{"name":"c","env":[{"name":"X"}]}]}`), storage: pod("", `{"containers":[{"name":"c","env":[{"name":"X"}]}]}`)},
		{name: "masked, with what kubectl applied removed", same: true, rules: env,
			apiserver: pod(`,"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}`, `{}`), storage: pod("", `{}`)},
		{name: "masked, with what kubectl applied left in", rules: env,
			apiserver: pod(`,"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}`, `{}`),
			storage:   pod(`,"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}`, `{}`)},
		{name: "what kubectl applied to an object without masks", same: true,
			apiserver: pod(`,"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}`, `{}`),
			storage:   pod(`,"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}`, `{}`)},
		{name: "mask of another namespace", same: true, rules: Rules{Masks: []Mask{{Kind: "Pod", Namespace: "b", Path: []string{"spec"}}}},
			apiserver: pod("", `{"x":1}`), storage: pod("", `{"x":1}`)},
		{name: "masked list elements, both by the object as read", same: true,
			rules:     Rules{Masks: []Mask{{Kind: "Pod", Path: []string{"spec", "l", "0"}}, {Kind: "Pod", Path: []string{"spec", "l", "1"}}}},
			apiserver: pod("", `{"l":[1,2,3]}`), storage: pod("", `{"l":[3]}`)},
		{name: "masks that find nothing", same: true,
			rules:     Rules{Masks: []Mask{{Kind: "Pod", Path: []string{"spec", "l", "9", "x"}}, {Kind: "Pod", Path: []string{"spec", "l", "x"}}, {Kind: "Pod", Path: []string{"kind", "x"}}}},
			apiserver: pod("", `{"l":[1]}`), storage: pod("", `{"l":[1]}`)},
		{name: "custom kinds are not masked", same: true,
			rules:     Rules{CustomKinds: []string{"Pod"}, Masks: []Mask{{Kind: "Pod", Path: []string{"spec"}}}},
			apiserver: pod("", `{"x":1}`), storage: pod("", `{"x":1}`)},
		{name: "workload annotations are ignored", same: true,
			apiserver: pod("", `{}`), storage: pod(`,"annotations":{"workload.bkbcs.tencent.com/kind":"Deployment","workload.bkbcs.tencent.com/name":"web"}`, `{}`)},
		{name: "other annotations are not", apiserver: pod("", `{}`), storage: pod(`,"annotations":{"x":"y"}`, `{}`)},
		{name: "workload annotations of other kinds are data",
			apiserver: `{"kind":"Job","metadata":{"name":"web"}}`, storage: `{"kind":"Job","metadata":{"name":"web","annotations":{"workload.bkbcs.tencent.com/kind":"x"}}}`},
		{name: "numbers as written", apiserver: pod("", `{"n":1.0}`), storage: pod("", `{"n":1}`)},
		{name: "large numbers", same: true, apiserver: pod("", `{"n":9007199254740993}`), storage: pod("", `{"n": 9007199254740993}`)},
		{name: "a large number rounded", apiserver: pod("", `{"n":9007199254740993}`), storage: pod("", `{"n":9007199254740992}`)},
		{name: "string and number differ", apiserver: pod("", `{"n":"1"}`), storage: pod("", `{"n":1}`)},
		{name: "null and absent differ", apiserver: pod("", `{"n":null}`), storage: pod("", `{}`)},
		{name: "list order matters", apiserver: pod("", `{"l":[1,2]}`), storage: pod("", `{"l":[2,1]}`)},
		{name: "text that imitates the canonical form", apiserver: pod("", `{"a":"x\",\"b"}`), storage: pod("", `{"a":"x","b":""}`)},
		{name: "items of a plain list", same: true, apiVersion: "v1", kind: "Pod",
			apiserver: `{"metadata":{"name":"web"}}`, storage: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}`},
		{name: "kind missing in storage", apiVersion: "v1", kind: "Pod",
			apiserver: `{"metadata":{"name":"web"}}`, storage: `{"metadata":{"name":"web"}}`},
		{name: "a heartbeat", same: true, apiserver: node("9", "10:00", "True"), storage: node("8", "09:00", "True")},
		{name: "a node's status", apiserver: node("9", "10:00", "False"), storage: node("8", "09:00", "True")},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := digest(t, Raw{APIVersion: c.apiVersion, Kind: c.kind, JSON: []byte(c.apiserver)}, c.rules)
			s := digest(t, Raw{Side: history.SideStorage, Kind: c.kind, JSON: []byte(c.storage)}, c.rules)
			if (a.Digest == s.Digest) != c.same {
				t.Errorf("digests %s and %s, want same: %v", a.Digest, s.Digest, c.same)
			}
		})
	}
}

func TestDigestRecord(t *testing.T) {
	raw := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"a","uid":"u1","resourceVersion":"7"}}`
	got := digest(t, Raw{JSON: []byte(raw)}, Rules{})
	want := history.StateRecord{Side: history.SideApiserver, Kind: "Pod", Namespace: "a", Name: "web", UID: "u1", ResourceVersion: 7, Digest: got.Digest, Bytes: len(raw)}
	if got != want || got.Content != "" || len(got.Digest) != 2*digestBytes {
		t.Errorf("%+v", got)
	}
	row := digest(t, Raw{Side: history.SideStorage, Kind: "Pod", Namespace: "b", Name: "other", JSON: []byte(raw)}, Rules{})
	if row.Namespace != "b" || row.Name != "other" {
		t.Errorf("the row's own key must win: %+v", row)
	}
	for _, c := range []struct {
		now                     string
		sameDigest, sameContent bool
	}{
		{raw, true, true},
		{strings.Replace(raw, `"7"`, `"8"`, 1), false, true},
		{strings.Replace(raw, `,"resourceVersion":"7"`, "", 1), false, true},
		{strings.Replace(raw, `"u1"`, `"u2"`, 1), false, false},
	} {
		other := digest(t, Raw{Side: history.SideStorage, Kind: "Pod", Namespace: "b", Name: "other", JSON: []byte(c.now)}, Rules{})
		if (other.Digest == row.Digest) != c.sameDigest || (other.Content == row.Content) != c.sameContent || len(other.Content) != 2*digestBytes {
			t.Errorf("%s: digest %s and content %s, of %s %s and %s", c.now, other.Digest, other.Content, raw, row.Digest, row.Content)
		}
	}
}

func TestDigestRefuses(t *testing.T) {
	for raw, want := range map[string]string{
		``:                                 "EOF",
		`null`:                             "null where an object",
		`[]`:                               "cannot unmarshal",
		`{} {}`:                            "text after",
		`{"kind":"Pod","metadata":{}}`:     "no kind or no name",
		`{"metadata":{"name":"x"}}`:        "no kind or no name",
		`{"kind":"Pod","metadata":"text"}`: "no kind or no name",
	} {
		if _, err := Digest(Raw{Side: history.SideStorage, JSON: []byte(raw)}, Rules{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
}

// FuzzShallow: an object decoded as far as needed has the digest of one decoded whole.
func FuzzShallow(f *testing.F) {
	for _, raw := range []string{
		`{"metadata":{"name":"a","uid":"u","resourceVersion":"7","managedFields":[{}],"annotations":{"workload.bkbcs.tencent.com/kind":"x"}},"spec":{"z":[1,{"x":null,"a":"<\u00e9\n"}],"a":1.0}}`,
		`{"metadata":{"annotations":{"b":"1","a":"2","workload.bkbcs.tencent.com/name":"x"},"namespace":"n","name":"a"},"kind":"x"}`,
		`{"metadata":{"name":"a","uid":"u"},"metadata":{"name":"b"},"a":1,"a":{"b":2}}`,
		`{"metadata":{"name":"a","annotations":{"a":"1"},"annotations":{}}}`,
		`{"metadata":{"name":"a","annotations":{}},"a\u0062":true}`, `{"metadata":[1],"x":"` + "\xff" + `"}`, `{} x`, `[1]`, ``,
	} {
		f.Add([]byte(raw), true, true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, apiserver, pod bool) {
		o := Raw{Side: history.SideStorage, Kind: "Job", JSON: raw}
		if apiserver {
			o.Side, o.APIVersion = history.SideApiserver, "v1"
		}
		if pod {
			o.Kind = kindPod
		}
		shallow, got, err := project(o, Rules{}, true)
		if err != nil {
			return
		}
		whole, want, err := project(o, Rules{}, false)
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		text, version, err := marshal(shallow)
		wantText, wantVersion, wantErr := marshal(whole)
		if string(text) != string(wantText) || string(version) != string(wantVersion) || got != want || (err == nil) != (wantErr == nil) {
			t.Errorf("%q:\n%s %s\n%+v\nwant\n%s %s\n%+v (%v, %v)", raw, text, version, got, wantText, wantVersion, want, err, wantErr)
		}
	})
}

func FuzzDigest(f *testing.F) {
	f.Add([]byte(`{"kind":"Pod","metadata":{"name":"a","annotations":{}},"spec":{"l":[1,{"x":null}]}}`))
	f.Add([]byte(`{"kind":"Node","metadata":{"name":"a"},"status":{"conditions":[1,{}]}}`))
	rules := Rules{Masks: []Mask{{Kind: "Pod", Path: []string{"spec", "l", "0"}}, {Kind: "Pod", Path: []string{"metadata", "labels"}}}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, err := Digest(Raw{Side: history.SideApiserver, JSON: raw}, rules)
		if err != nil {
			return
		}
		b, err := Digest(Raw{Side: history.SideApiserver, JSON: raw}, rules)
		if err != nil || a != b {
			t.Errorf("%q: %v then %v (%v)", raw, a, b, err)
		}
	})
}

func TestWants(t *testing.T) {
	r := Rules{
		Kinds: []string{"Pod", "Event", "Gadget", "Namespace"}, IgnoreNamespaces: []string{"kube-system"},
		IgnoreNames: []string{"kubernetes"}, CustomKinds: []string{"Gadget"},
	}
	for _, c := range []struct {
		kind, ns, name string
		want           bool
	}{
		{"Pod", "a", "web", true},
		{"Pod", "kube-system", "web", false},
		{"Pod", "a", "kubernetes", false},
		{"Job", "a", "web", false},
		{"Gadget", "kube-system", "kubernetes", true},
		{"Namespace", "", "kube-system", true},
		{"Event", "kube-system", "kube-proxy.1", true},
		{"Event", "kube-system", "web.1", false},
		{"Event", "a", "web.1", true},
		{"IPPoolStatic", "", "IPPoolStatic-x", false},
	} {
		if got := r.Wants(c.kind, c.ns, c.name); got != c.want {
			t.Errorf("%s/%s/%s: %v", c.kind, c.ns, c.name, got)
		}
	}
	single := Rules{Namespace: "a"}
	if single.Wants("Node", "", "n") || single.Wants("Pod", "b", "x") || !single.Wants("Pod", "a", "x") {
		t.Error("a single namespace leaves out the others and the cluster scope")
	}
}

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
