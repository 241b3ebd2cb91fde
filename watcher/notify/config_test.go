package notify_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/watcher/notify"
)

// TestConfig: what is refused at the start, by its key.
func TestConfig(t *testing.T) {
	hook := `"target":{"webhook":{"url":"https://h/"}}`
	for _, tc := range []struct{ text, want string }{
		{`{}`, ""},
		{`{"subscriptions":[{"name":"a","resource":"apps/v1/deployments",` + hook + `}]}`, ""},
		{`{"subscriptions":[{"name":"a","resource":"v1/pods","names":["x"],"namespaces":["n"],"labelSelector":"a in (b,c),!d","events":["ADDED","MODIFIED"],
			"changedPath":"metadata.annotations.a\\.b/c","initial":"list","workers":8,"queue":{"length":1,"bytes":1},
			"retry":{"initial":"1s","max":"2s","tries":3,"age":"1m"},"target":{"nats":{"servers":["nats://h:1"]}}}]}`, ""},
		{`{"subscriptions":[{"name":"a","resource":"v1/pods","target":{"kafka":{"brokers":["h:1"],"topic":"t"}}}]}`, ""},
		{`{"subscriptions":[{"name":"a","resource":"v1/pods",` + hook + `},{"name":"a","resource":"v1/pods",` + hook + `}]}`, `subscriptions[1].name: "a" is the name of subscriptions[0]`},
		{`{"subscriptions":[{"resource":"v1/pods",` + hook + `}]}`, `subscriptions[0].name: `},
		{`{"subscriptions":[{"name":"../a","resource":"v1/pods",` + hook + `}]}`, `subscriptions[0].name: `},
		{`{"subscriptions":[{"name":"a",` + hook + `}]}`, `subscriptions[0].resource: `},
		{`{"subscriptions":[{"name":"a","resource":"v1/pods","labelSelector":"a=(",` + hook + `}]}`, `subscriptions[0].labelSelector: `},
		{`{"subscriptions":[{"name":"a","resource":"v1/pods","events":["ADDED","CHANGED"],` + hook + `}]}`, `subscriptions[0].events[1]: `},
		{`{"subscriptions":[{"name":"a","resource":"v1/pods","namespaces":["*"],` + hook + `}]}`, `subscriptions[0].namespaces[0]: `},
		{`{"subscriptions":[{"name":"a","resource":"v1/pods","names":["n/a"],` + hook + `}]}`, `subscriptions[0].names[0]: `},
		{`{"subscriptions":[{"name":"a","resource":"v1/pods","changedPath":"a..b",` + hook + `}]}`, `subscriptions[0].changedPath: `},
		{`{"subscriptions":[{"name":"a","resource":"v1/pods","changedPath":"a","events":["ADDED"],` + hook + `}]}`, `subscriptions[0].changedPath: `},
		{`{"subscriptions":[{"name":"a","resource":"v1/pods","initial":"all",` + hook + `}]}`, `subscriptions[0].initial: `},
		{`{"subscriptions":[{"name":"a","resource":"v1/pods","initial":"list","events":["DELETED"],` + hook + `}]}`, `subscriptions[0].initial: `},
		{`{"subscriptions":[{"name":"a","resource":"v1/pods","workers":1000,` + hook + `}]}`, `subscriptions[0].workers: `},
		{`{"subscriptions":[{"name":"a","resource":"v1/pods","queue":{"length":-1},` + hook + `}]}`, `subscriptions[0].queue.length: `},
		{`{"subscriptions":[{"name":"a","resource":"v1/pods","retry":{"tries":-1},` + hook + `}]}`, `subscriptions[0].retry.tries: is negative, want 0`},
		{`{"subscriptions":[{"name":"a","resource":"v1/pods","retry":{"initial":"1m","max":"1s"},` + hook + `}]}`, `subscriptions[0].retry.max: `},
		{`{"subscriptions":[{"name":"a","resource":"v1/pods"}]}`, `subscriptions[0].target: has 0 targets`},
		{`{"subscriptions":[{"name":"a","resource":"v1/pods","target":{"webhook":{"url":"https://h/"},"kafka":{"brokers":["h:1"],"topic":"t"}}}]}`, `subscriptions[0].target: has 2 targets`},
		{`{"subscriptions":[{"name":"a","resource":"v1/pods","target":{"webhook":{"url":"file:///x"}}}]}`, `subscriptions[0].target.webhook.url: `},
		{`{"subscriptions":[{"name":"a","resource":"v1/pods","target":{"nats":{"servers":["h"]}}}]}`, `subscriptions[0].target.nats.servers[0]: `},
		{`{"subscriptions":[{"name":"a","resource":"v1/pods","target":{"kafka":{"brokers":["h:1"]}}}]}`, `subscriptions[0].target.kafka.topic: `},
		{`{"subscriptions":[{"name":"a","resource":"v1/pods","target":{"webhook":{"url":"http://127.0.0.1:1","allow":["127.0.0.0/8"]}}}]}`, ``},
		{`{"drainTimeout":"-1s"}`, `drainTimeout: `},
	} {
		c := decode(t, tc.text)
		err := c.Validate()
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.want)) {
			t.Errorf("%s:\n%v\nwant %q", tc.text, err, tc.want)
		}
		if _, err := notify.New(c, notify.Settings{Kinds: &kind{}}); tc.want != "" && err == nil {
			t.Errorf("%s: New takes it", tc.text)
		}
	}
}

// TestDecode: forms of values that are no JSON of the right kind.
func TestDecode(t *testing.T) {
	for _, text := range []string{
		`{"subscriptions":[{"resource":"pods"}]}`, `{"subscriptions":[{"resource":"v1/Pod"}]}`, `{"subscriptions":[{"resource":"a/b/c/d"}]}`, `{"subscriptions":[{"resource":{"version":"v1","resource":"pods"}}]}`,
		`{"subscriptions":[{"resource":7}]}`, `{"drainTimeout":10}`, `{"drainTimeout":"10"}`,
	} {
		c := notify.Default()
		if err := json.Unmarshal([]byte(text), &c); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
	b, err := json.Marshal(notify.Default())
	if want := `{"subscriptions":null,"drainTimeout":"10s"}`; err != nil || string(b) != want {
		t.Errorf("%s, %v; want %s", b, err, want)
	}
}
