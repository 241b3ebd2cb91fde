package synchronizer

import (
	"fmt"
	"testing"
)

// TestSum: objects that are the same have the same sum, in any order of keys, and others
// have not.
func TestSum(t *testing.T) {
	for _, tc := range []struct {
		kind, a, b string
		same       bool
	}{
		{"Pod", `{"a":1,"b":{"c":[2,{"d":"e"}]}}`, ` { "b" : {"c":[2.0,{"d":"\u0065"}]}, "a":1e0 }`, true},
		{"Pod", `{"a":[1,2]}`, `{"a":[2,1]}`, false},
		{"Pod", `{"a":[]}`, `{"a":{}}`, false},
		{"Pod", `{"a":"1"}`, `{"a":1}`, false},
		{"Pod", `{"a":null}`, `{}`, false},
		{"Pod", `{"a":true}`, `{"a":false}`, false},
		{"Pod", `{"a":{"b":1},"c":{"d":2}}`, `{"a":{"d":2},"c":{"b":1}}`, false},
		{"Pod", `{"a":1,"b":2}`, `{"a":2,"b":1}`, false},
		{"Pod", `{"metadata":{"name":"x","managedFields":[{}]}}`, `{"metadata":{"name":"x"}}`, true},
		{"Pod", `{"managedFields":1}`, `{}`, false},
		{"Pod", `{"metadata":{"resourceVersion":"1"}}`, `{"metadata":{"resourceVersion":"2"}}`, false},
		{"Node", `{"metadata":{"resourceVersion":"1"},"status":{"conditions":[{"lastHeartbeatTime":"a"}]}}`,
			`{"metadata":{"resourceVersion":"2"},"status":{"conditions":[{"lastHeartbeatTime":"b"}]}}`, true},
		{"Pod", `{"status":{"conditions":[{"lastHeartbeatTime":"a"}]}}`, `{"status":{"conditions":[{"lastHeartbeatTime":"b"}]}}`, false},
		{"Pod", `{`, `{"a":1}`, false},
		{"Pod", fmt.Sprint(`{"n":`, int64(1<<53+1), `}`), fmt.Sprint(`{"n":`, int64(1<<53), `}`), true}, // no more than a double holds
	} {
		if got := Sum(tc.kind, []byte(tc.a)) == Sum(tc.kind, []byte(tc.b)); got != tc.same {
			t.Errorf("%s %s and %s: the same %v, want %v", tc.kind, tc.a, tc.b, got, tc.same)
		}
	}
}
