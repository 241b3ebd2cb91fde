package object_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
)

// decode is the reference: what encoding/json makes of text.
func decode(t testing.TB, raw []byte) any {
	t.Helper()
	var v any
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, raw)
	}
	return v
}

// podJSON is a pod as an apiserver sends it: about 3 KiB and 1.6 KiB of managedFields.
func podJSON(name string) []byte {
	env := make([]string, 24)
	for i := range env {
		env[i] = fmt.Sprintf(`{"name":"SETTING_%02d","value":"value of setting number %d"}`, i, i)
	}
	fields := make([]string, 30)
	for i := range fields {
		fields[i] = fmt.Sprintf(`"f:field%02d":{".":{},"f:name":{},"f:value":{}}`, i)
	}
	return []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"` + name + `","generateName":"web-7d4b9c-","namespace":"team-a",` +
		`"uid":"0b6f4c0e-8c0c-4f0b-9d7e-2f1f0a5f7c11","resourceVersion":"123456","generation":1,"creationTimestamp":"2026-05-04T10:20:30Z",` +
		`"labels":{"app":"web","pod-template-hash":"7d4b9c"},"annotations":{"note":"he said \"hi\" & left"},` +
		`"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-7d4b9c","uid":"5a1e9a53-62a2-4e0c-a0d8-0d1c62f9e2f3","controller":true,"blockOwnerDeletion":true}],` +
		`"managedFields":[{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-05-04T10:20:30Z","fieldsType":"FieldsV1","fieldsV1":{` + strings.Join(fields, ",") + `}}]},` +
		`"spec":{"volumes":[{"name":"token","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}}],"defaultMode":420}}],` +
		`"containers":[{"name":"web","image":"registry.example/web:1.2.3","env":[` + strings.Join(env, ",") + `],"resources":{"limits":{"cpu":"500m","memory":"128Mi"}},"imagePullPolicy":"IfNotPresent"}],` +
		`"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","nodeName":"node-17","schedulerName":"default-scheduler","priority":0},` +
		`"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-05-04T10:20:40Z"}],"hostIP":"10.0.0.17","podIP":"10.1.2.3","startTime":"2026-05-04T10:20:30Z"}}`)
}

// inputs are the seeds of the fuzz targets and the rows of the comparisons.
var inputs = []string{
	`{}`,
	`{"metadata":{}}`,
	`{"metadata":null}`,
	`{"metadata":[]}`,
	`{"metadata":{"name":"a"}}`,
	`{"metadata":{"managedFields":[]}}`,
	`{"metadata":{"managedFields":[1],"name":"a"}}`,
	`{"metadata":{"name":"a","managedFields":[1]}}`,
	`{"metadata":{"name":"a","managedFields":[1],"uid":"u"}}`,
	`{"metadata":{"managedFields":[1],"managedFields":[2],"name":"a"}}`,
	`{"metadata":{"name":"a","managedFields":[1],"managedFields":[2]}}`,
	`{"metadata":{"managedFields":[1],"name":"a","managedFields":[2]}}`,
	`{"metadata":{"name":"a","managedFields":[1]},"metadata":{"name":"b"}}`,
	`{"metadata":{"name":"b"},"metadata":{"name":"a","managedFields":[1]}}`,
	`{"metadata":{"name":"b"},"metadata":7}`,
	`{"meta\u0064ata":{"n\u0061me":"a\u00e9","managed\u0046ields":[1]}}`,
	`{"metadata":{"name":"a","annotations":null,"labels":null}}`,
	`{"metadata":{"name":"a","annotations":{},"labels":{}}}`,
	`{"metadata":{"name":"a","annotations":{"k":"v"},"labels":{"k":"v","l":"w"}}}`,
	`{"metadata":{"name":"a","annotations":{"k":"1","k":"2"},"labels":{"\u006b":"v"}}}`,
	`{"metadata":{"name":"a","annotations":{"k":null,"l":7},"labels":"x"}}`,
	`{"metadata":{"name":"a","annotations":{"k":"1"},"annotations":{"l":"2"}}}`,
	" {\n \"metadata\" : { \"name\" : \"a\" , \"managedFields\" : [ 1 , 2 ] , \"labels\" : { } }\n, \"spec\" : [ { \"a\" : 1 } ] } ",
	`{"kind":"A","kind":"B","apiVersion":null,"metadata":{"name":"a"}}`,
	`{"spec":{"containers":[{"env":[1]},{"env":[2],"x":[]}]},"metadata":{"name":"a"}}`,
	`{"spec":{"containers":{"0":{"env":"x"}}},"metadata":{"name":"a"}}`,
	`{"spec":{"containers":null},"metadata":{"name":"a"}}`,
	`{"spec":{"containers":"none"},"metadata":{"name":"a"}}`,
	`{"data":{"a":"1","a":"2","b":"3"},"metadata":{"name":"a"}}`,
	`{"data":{},"metadata":{"name":"a","annotations":{"kubectl.kubernetes.io\/last-applied-configuration":"{\"data\":{\"a\":\"1\"}}\n"}}}`,
	`{"data":{},"metadata":{"name":"a","annotations":{"` + lastApplied + `":"no JSON"},"x":{"` + lastApplied + `":1}}}`,
	string(podJSON("web-1")),
	`[]`, `"x"`, `7`, `null`, `{`, `{"metadata":{"name":5}}`,
}

// without is the reference of Remove: it deletes path from a decoded document and
// reports whether the path fits the document's shape.
func without(v any, path []string) (any, bool) {
	switch c := v.(type) {
	case nil:
		return v, true
	case map[string]any:
		next, ok := c[path[0]]
		if !ok {
			return c, true
		}
		c = maps.Clone(c)
		if len(path) == 1 {
			delete(c, path[0])
			return c, true
		}
		var fits bool
		c[path[0]], fits = without(next, path[1:])
		return c, fits
	case []any:
		var i int
		if _, err := fmt.Sscanf(path[0], "%d", &i); err != nil || fmt.Sprint(i) != path[0] || i < 0 {
			return v, false
		}
		if i >= len(c) {
			return c, true
		}
		if len(path) == 1 {
			return append(append([]any{}, c[:i]...), c[i+1:]...), true
		}
		var fits bool
		c = append([]any{}, c...)
		c[i], fits = without(c[i], path[1:])
		return c, fits
	default:
		return v, false
	}
}
