package relation

import (
	"encoding/json"
	"fmt"
	"testing"
)

// FuzzRefs: readers of references never panic, whatever an object is, accept what is JSON
// and nothing else, and say the same to an index as to a query.
func FuzzRefs(f *testing.F) {
	for _, s := range []string{
		"", "{", "null", "[]", `{"metadata":null,"spec":[]}`, `{"metadata":{"namespace":1,"name":[]},"spec":{"nodeName":{},"volumes":{"a":1},"containers":[null,[],{"env":[{"valueFrom":null}]}]}}`,
		`{"metadata":{"namespace":"a","name":"p","labels":{"kubernetes.io/service-name":"s"},"ownerReferences":[{"uid":"u","kind":"K","apiVersion":"g/v","name":"n"},{"uid":""},7]},"endpoints":[{"targetRef":{"kind":"Pod","name":"p","uid":"u"}}],"subsets":[{"addresses":[{"targetRef":null}]}]}`,
		`{"spec":{"claimRef":{"name":"c","uid":""},"volumeName":"v","scaleTargetRef":{"kind":"D","name":"d"},"defaultBackend":{"service":{"name":"s"}},"volumes":[{"name":"e","ephemeral":{}},{"name":"f","ephemeral":null},{"ephemeral":1}],"nodeName":"\ud800\u0061"}}`,
		`{"spec":{"nodeName":"a","nodeName":"b"}} x`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, ru := range rules {
			var keys []string
			err := ru.refs(raw, nil, func(r reference) {
				if r.name == "" || r.of.kind == "" {
					t.Errorf("%s: %+v", ru.typ, r)
				}
				keys = append(keys, r.key())
			})
			if (err == nil) != json.Valid(raw) {
				t.Errorf("%s: %v", ru.typ, err)
			}
			if values := ru.values(raw); err == nil && fmt.Sprint(values) != fmt.Sprint(keys) || err != nil && len(values) > 0 {
				t.Errorf("%s: %v and %v", ru.typ, keys, values)
			}
		}
	})
}
