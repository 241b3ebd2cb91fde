package query_test

import (
	"iter"
	"testing"
	"time"

	"github.com/watchbench/watchbench/storagemock/query"
	"github.com/watchbench/watchbench/storagemock/rawjson"
)

// doc is a document from its JSON.
type doc string

func (d doc) Fields() iter.Seq2[string, []byte] { return rawjson.Members([]byte(d)) }

const pod = doc(`{"_id":"66","resourceName":"web-1","updateTime":"2024-05-01T08:00:00.12Z","data":{"metadata":{"name":"web-1",` +
	`"labels":{"app":"web","app.kubernetes.io/name":"x","n":"1"},"owners":[{"kind":"RS","uid":"u1"},{"kind":"X"}]},` +
	`"spec":{"replicas":3,"on":true,"args":["a","b"],"none":null,"cost$":5}}}`)

func TestSelector(t *testing.T) {
	for s, want := range map[string]bool{
		"app=web": true, "app=db": false, "app==web": true, "app+=+web": true, "app": true, "tier": false,
		"app+in+(web,db)": true, "app+in+(db)": false, "app in (web,db)": true,
		"app+notin+(db)": true, "app+notin+(web)": false, "tier+notin+(a)": true,
		"app+!=+db": true, "app+!=+web": false, "tier+!=+x": true,
		"app=web,n=1": true, "app=web,n+in+(2,3)": false,
		"app.kubernetes.io/name=x": false, // split at its dots, as on the real server
		"app．kubernetes．io/name=x": true,
	} {
		c, err := query.ParseSelector(s)
		if err != nil {
			t.Errorf("%s: %v", s, err)
			continue
		}
		if c.Match(pod) != want {
			t.Errorf("%s matches: %v, want %v", s, !want, want)
		}
	}
	for _, s := range []string{"", "app=web,", "=v", "app+in+web", "app+like+x", "app=(a)", "a+in+(", "!app"} {
		if _, err := query.ParseSelector(s); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}
}

func TestConditions(t *testing.T) {
	for tree, want := range map[string]bool{
		`{"Op":"eq","Value":{"resourceName":"web-1"}}`:                                               true,
		`{"op":"eq","value":{"data.spec.replicas":3}}`:                                               true,
		`{"op":"eq","value":{"data.spec.replicas":3.0}}`:                                             true,
		`{"op":"eq","value":{"data.spec.replicas":"3"}}`:                                             false,
		`{"op":"eq","value":{"data.spec.args":"b"}}`:                                                 true,
		`{"op":"eq","value":{"data.spec.args":["a","b"]}}`:                                           true,
		`{"op":"eq","value":{"data.spec.args.1":"b"}}`:                                               true,
		`{"op":"eq","value":{"data.metadata.owners.kind":"X"}}`:                                      true,
		`{"op":"eq","value":{"data.metadata.owners.0.uid":"u1"}}`:                                    true,
		`{"op":"eq","value":{"data.spec.none":null}}`:                                                true,
		`{"op":"eq","value":{"data.spec.nowhere":null}}`:                                             true,
		`{"op":"eq","value":{"data.spec.on":true}}`:                                                  true,
		`{"op":"eq","value":{"data.spec.cost$":5}}`:                                                  false,
		`{"op":"eq","value":{"data.spec.cost＄":5}}`:                                                  true,
		`{"op":"ne","value":{"resourceName":"web-1"}}`:                                               false,
		`{"op":"ne","value":{"nowhere":"x"}}`:                                                        true,
		`{"op":"in","value":{"resourceName":["a","web-1"]}}`:                                         true,
		`{"op":"nin","value":{"resourceName":["a","web-1"]}}`:                                        false,
		`{"op":"exists","value":{"data.spec.args":true}}`:                                            true,
		`{"op":"exists","value":{"data.spec.args":false}}`:                                           false,
		`{"op":"con","value":{"resourceName":"eb-"}}`:                                                true,
		`{"op":"gt","value":{"data.spec.replicas":2}}`:                                               true,
		`{"op":"lte","value":{"data.spec.replicas":2}}`:                                              false,
		`{"op":"lt","value":{"updateTime":"2024-05-01T08:00:00.5Z"}}`:                                true,
		`{"op":"gte","value":{"resourceName":"web-0"}}`:                                              true,
		`{"op":"lt","value":{"resourceName":5}}`:                                                     false,
		`{"op":"or","children":[{"op":"eq","value":{"a":1}},{"op":"eq","value":{"_id":"66"}}]}`:      true,
		`{"op":"and","children":[{"op":"eq","value":{"a":1}},{"op":"eq","value":{"_id":"66"}}]}`:     false,
		`{"op":"nor","children":[{"op":"eq","value":{"a":1}},{"op":"eq","value":{"_id":"66"}}]}`:     false,
		`{"op":"tr","value":{}}`:                                                                     true,
		`{"op":"and","children":[{"op":"tr"},{"op":"eq","value":{"_id":"66","resourceName":"no"}}]}`: false,
	} {
		c, err := query.ParseTree([]byte(tree))
		if err != nil {
			t.Errorf("%s: %v", tree, err)
			continue
		}
		if c.Match(pod) != want {
			t.Errorf("%s matches: %v, want %v", tree, !want, want)
		}
	}
	for _, tree := range []string{``, `[]`, `{"op":"like","value":{"a":1}}`, `{"op":"in","value":{"a":1}}`, `{"op":"xor","children":[{"op":"tr"}]}`, `{"op":"eq","value":5}`} {
		if _, err := query.ParseTree([]byte(tree)); err == nil {
			t.Errorf("%s was accepted", tree)
		}
	}
}

func TestProjection(t *testing.T) {
	for _, tc := range []struct {
		fields []string
		want   string
	}{
		{nil, string(pod)},
		{[]string{""}, string(pod)},
		{[]string{"resourceName"}, `{"_id":"66","resourceName":"web-1"}`},
		{[]string{"data.metadata.name"}, `{"_id":"66","data":{"metadata":{"name":"web-1"}}}`},
		{[]string{"data.spec.replicas", "data.spec.on"}, `{"_id":"66","data":{"spec":{"replicas":3,"on":true}}}`},
		{[]string{"data.metadata.owners.kind"}, `{"_id":"66","data":{"metadata":{"owners":[{"kind":"RS"},{"kind":"X"}]}}}`},
		{[]string{"data.spec.args.x"}, `{"_id":"66","data":{"spec":{"args":[]}}}`},
		{[]string{"data.spec.replicas.x", "nowhere"}, `{"_id":"66","data":{"spec":{}}}`},
		{[]string{"data.spec.on.x", "data.spec.on", "data.spec.on.y"}, `{"_id":"66","data":{"spec":{"on":true}}}`},
		{[]string{"data.metadata.labels.app.kubernetes.io/name"}, `{"_id":"66","data":{"metadata":{"labels":{}}}}`},
		{[]string{"data.metadata.labels.app．kubernetes．io/name"}, `{"_id":"66","data":{"metadata":{"labels":{"app.kubernetes.io/name":"x"}}}}`},
	} {
		got := string(query.ParseProjection(tc.fields).Append(nil, pod))
		if got != tc.want {
			t.Errorf("%q:\n got %s\nwant %s", tc.fields, got, tc.want)
		}
	}
}

func TestTimeValue(t *testing.T) {
	at := time.Date(2024, 5, 1, 16, 0, 0, 120_456_000, time.FixedZone("", 8*3600))
	if got := string(query.TimeValue(at)); got != `"2024-05-01T08:00:00.12Z"` {
		t.Errorf("got %s", got)
	}
}

func FuzzQuery(f *testing.F) {
	f.Add("app+in+(a,b),k=v", `{"op":"or","children":[{"op":"eq","value":{"a.b":1}}]}`, "data.spec,data.metadata.name", string(pod))
	f.Fuzz(func(t *testing.T, selector, tree, field, raw string) {
		if rawjson.Valid([]byte(raw)) != nil || rawjson.KindOf([]byte(raw)) != rawjson.Object {
			return
		}
		if c, err := query.ParseSelector(selector); err == nil {
			c.Match(doc(raw))
		}
		if c, err := query.ParseTree([]byte(tree)); err == nil {
			c.Match(doc(raw))
		}
		out := query.ParseProjection([]string{field}).Append(nil, doc(raw))
		if err := rawjson.Valid(out); err != nil {
			t.Fatalf("projecting %q out of %q gave %q: %v", field, raw, out, err)
		}
	})
}
