package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const minimal = `{
  "default": {"clusterID": "BCS-K8S-90001"},
  "watch_resource": {"disable_netservice": true},
  "bcs": {"custom-storage-endpoints": "http://storage.example:50024, http://other.example:50024", "podQueueNum": 30},
  "k8s": {"master": "http://kube-apiserver.example:8080"},
  "address": "127.0.0.1", "port": 10251, "metric_port": 10252,
  "logtostderr": true, "v": 3, "insecure_port": 1, "somethingElse": {"a": 1},
  "filterConfigPath": "./filter.json"
}`

func TestParse(t *testing.T) {
	got, warnings, err := Parse("c.json", []byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Default.ClusterID = "BCS-K8S-90001"
	want.WatchResource.DisableNetService = true
	want.BCS.CustomStorageEndpoints = List{"http://storage.example:50024", "http://other.example:50024"}
	want.BCS.PodQueueNum = 30
	want.K8s.Master = "http://kube-apiserver.example:8080"
	want.Port, want.MetricPort, want.Verbosity = 10251, 10252, 3
	want.FilterConfigPath = "./filter.json"
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	wantWarnings := []string{"c.json:7: insecure_port: has no effect", "c.json:7: logtostderr: has no effect", "c.json:7: somethingElse: unknown key, ignored"}
	if d := cmp.Diff(wantWarnings, warnings); d != "" {
		t.Error(d)
	}
}

func TestKeysAreMatchedWithoutCase(t *testing.T) {
	cfg, _, err := Parse("c.json", []byte(strings.Replace(minimal, "podQueueNum", "PODQUEUENUM", 1)))
	if err != nil || cfg.BCS.PodQueueNum != 30 {
		t.Errorf("podQueueNum = %d, error %v", cfg.BCS.PodQueueNum, err)
	}
}

func TestParseErrors(t *testing.T) {
	with := func(bcs string) string {
		return "{\"default\": {\"clusterID\": \"c\"},\n\"bcs\": {\"custom-storage-endpoints\": \"http://h:1\",\n" + bcs + "}}"
	}
	for _, tc := range []struct{ name, in, want string }{
		{"empty", " ", "c.json:1: not valid JSON: the file is empty, want a JSON object"},
		{"cut off", `{"bcs": {`, "c.json:1: not valid JSON: unexpected EOF"},
		{"syntax", "{\n\"bcs\": [}\n}", "c.json:2: not valid JSON: invalid character '}' looking for beginning of value"},
		{"list instead of object", `[]`, "c.json:1: want an object, got a list"},
		{"two documents", `{} {}`, "c.json:1: not valid JSON: something follows the JSON object"},
		{"no cluster", `{"bcs":{"custom-storage-endpoints":"http://h:1"}}`, `c.json: default.clusterID: missing: it is part of every storage URL, for instance "BCS-K8S-00000"`},
		{"cluster no URL", `{"default":{"clusterID":"a/b"}}`, `c.json:1: default.clusterID: "a/b" cannot be part of a URL: use letters, digits and "-"`},
		{"cluster not rendered", `{"default":{"clusterID":"${clusterId}"}}`, `c.json:1: default.clusterID: "${clusterId}" looks like a template that was not rendered: want the value itself, without $, { and }`},
		{"endpoint not rendered", `{"default":{"clusterID":"c"},"bcs":{"custom-storage-endpoints":"http://{{ .Values.storage }}"}}`, `c.json:1: bcs.custom-storage-endpoints: "http://{{ .Values.storage }}" looks like a template`},
		{"ZooKeeper not rendered", `{"default":{"clusterID":"c"},"bcs":{"zk":"$bcsZkHost"}}`, `c.json:1: bcs.zk: "$bcsZkHost" looks like a template`},
		{"no storage", `{"default":{"clusterID":"c"}}`, "c.json: bcs.custom-storage-endpoints: missing: name at least one http://host:port"},
		{"wrong type", with(`"podQueueNum": "30"`), `c.json:3: bcs.podQueueNum: want a whole number, got "30"`},
		{"profile", with(`"strategy":"keyed"}, "profile": "old", "x":{`), `c.json:3: profile: unknown profile "old", want default`},
		{"legacy", with(`"strategy":"keyed"}, "profile": "legacy", "x":{`), "c.json:3: profile: legacy is a program of its own: leave the key out, and run watchlegacy -f with this file"},
		{"read pace", with(`"strategy":"keyed"}, "k8s": {"readPace": "2s"}, "x":{`), `c.json:3: k8s.readPace: want a duration of 0 to 1 s such as "20ms"`},
		{"none in flight", with(`"maxInFlight": 0`), "c.json:3: bcs.maxInFlight: 0: want 1 to 4096"},
		{"too many in flight", with(`"maxInFlight": 5000`), "c.json:3: bcs.maxInFlight: 5000: want 1 to 4096"},
		{"too long a queue", with(`"handlerQueueLen": 99999999`), "c.json:3: bcs.handlerQueueLen: 99999999: want 1 to 16777216"},
		{"negative", with(`"podQueueNum": -1`), "c.json:3: bcs.podQueueNum: -1: want 0 to 4096"},
		{"misspelt", with(`"stratgy": "keyed"`), `c.json:3: bcs.stratgy: unknown key, did you mean "strategy"?`},
		{"password", with(`"tls": {"password": 31415926}`), `c.json:3: bcs.tls.password: want a string, got something else`},
		{"endpoint with a user", `{"default":{"clusterID":"c"},"bcs":{"custom-storage-endpoints":"http://u:hush@h:1"}}`, `c.json:1: bcs.custom-storage-endpoints: "http://…@h:1": an address has a path at most, no user and no query`},
		{"endpoint with a user and no port", `{"default":{"clusterID":"c"},"bcs":{"custom-storage-endpoints":"http://u:hush@h:x"}}`, `c.json:1: bcs.custom-storage-endpoints: "http://…@h:x" is not an address, want http://host:port or https://host:port`},
		{"strategy", with(`"strategy": "fast"`), `c.json:3: bcs.strategy: unknown strategy "fast", want one of single, unordered, dedup, partitioned, keyed`},
		{"unordered", with(`"strategy": "unordered"`), `c.json:3: bcs.strategy: "unordered" breaks the order per object; set bcs.allowUnordered to true to have it all the same`},
		{"policy", with(`"queueFull": "wait"`), `c.json:3: bcs.queueFull: unknown policy "wait", want one of coalesce, block, drop`},
		{"duration without unit", with(`"storageTimeout": "5"`), `c.json:3: bcs.storageTimeout: want a duration such as "1s" or "250ms", got "5"`},
		{"duration as number", with(`"storageTimeout": 5`), `c.json:3: bcs.storageTimeout: want a duration such as "1s" or "250ms", got 5`},
		{"duration zero", with(`"queueFullTimeout": "0s"`), `c.json:3: bcs.queueFullTimeout: 0s: want a duration of at least 1ms`},
		{"endpoint", `{"default":{"clusterID":"c"},"bcs":{"custom-storage-endpoints":"h:1"}}`, `c.json:1: bcs.custom-storage-endpoints: "h:1" is not an address, want http://host:port or https://host:port`},
		{"selector", "{\"default\":{\"clusterID\":\"c\"},\"bcs\":{\"custom-storage-endpoints\":\"http://h:1\"},\n\"watch_resource\":{\"label_selectors\":{\n\"Pod\":\"a in b\"}}}", `c.json:3: watch_resource.label_selectors.Pod: "a in b" is not a label selector: `},
		{"cache check too often", with(`"strategy":"keyed"}, "cacheCheck": {"period": "5ms"}, "x":{`), `c.json:3: cacheCheck.period: want a duration of at least "1s"; "0s" never compares`},
		{"cache check without grace", with(`"strategy":"keyed"}, "cacheCheck": {"grace": "0s"}, "x":{`), `c.json:3: cacheCheck.grace: want a duration of at least "1s"`},
		{"retired key", with(`"strategy":"keyed"}, "cacheCheck": {"maxObjects": 0}, "x":{`), `c.json:3: cacheCheck.maxObjects: removed, leave it out: kinds of any size are compared`},
		{"cache check of another key", with(`"strategy":"keyed"}, "cacheCheck": {"every": "5s"}, "x":{`), `c.json:3: cacheCheck.every: unknown key, want one of `},
		{"Secrets to a webhook", with(`"strategy":"keyed"}, "resourceWatcher": {"notify": {"subscriptions": [{"name": "s", "resource": "v1/secrets", "target": {"webhook": {"url": "https://h"}}}]}}, "x":{`), `c.json:3: resourceWatcher.notify.subscriptions[0].resource: watches.deny withholds v1/secrets, nothing would be sent: name it in one of the two`},
		{"port", with(`"strategy":"keyed"}, "port": 70000, "x":{`), "c.json:3: port: want a number from 0 to 65535, got 70000"},
		{"token of two lines", with(`"custom-storage-endpoints-token": "hush\\nHost: x"`), `c.json:3: bcs.custom-storage-endpoints-token: is not valid in a header: want letters, digits and any of -._~+/=`},
		{"token as number", with(`"custom-storage-endpoints-token": 31415926`), `c.json:3: bcs.custom-storage-endpoints-token: want a string, got something else`},
		{"token twice", with(`"custom-storage-endpoints-token": "hush", "custom-storage-endpoints-tokenFile": "t"`), `c.json:3: bcs.custom-storage-endpoints-tokenFile: there is bcs.custom-storage-endpoints-token, too: give one of them`},
		{"verification", with(`"insecureSkipVerify": "yes"`), `c.json:3: bcs.insecureSkipVerify: want true or false, got "yes"`},
		{"ZooKeeper password without user", with(`"zkPassword": "hush"`), `c.json:3: bcs.zkPassword: needs bcs.zkUser`},
		{"subscription to what is withheld", with(`"strategy":"keyed"}, "resourceWatcher": {"notify":{"subscriptions":[{"name":"s","resource":"v1/secrets","target":{"webhook":{"url":"https://h/"}}}]}}, "x":{`), `c.json:3: resourceWatcher.notify.subscriptions[0].resource: watches.deny withholds v1/secrets, nothing would be sent: name it in one of the two`},
		{"subscription to a kind", with(`"strategy":"keyed"}, "resourceWatcher": {"notify":{"subscriptions":[{"name":"s","resource":"v1/Pod","target":{"webhook":{"url":"https://h/"}}}]}}, "x":{`), `c.json:3: resourceWatcher.notify.subscriptions[0].resource: "v1/Pod": want `},
		{"ZooKeeper user", with(`"zkUser": "a:b"`), `c.json:3: bcs.zkUser: must not contain ":", which separates user and password in a digest`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := Parse("c.json", []byte(tc.in))
			if err == nil || !strings.HasPrefix(err.Error(), strings.SplitN(tc.want, " is not a label selector", 2)[0]) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

// TestWarnings: what has no effect, or another one than it seems, is named.
func TestWarnings(t *testing.T) {
	for _, tc := range []struct{ bcs, want string }{
		{`"custom-storage-endpoints":"http://h:1, http://h:1/"`, `bcs.custom-storage-endpoints: "http://h:1" is listed twice, the second is ignored`},
		{`"custom-storage-endpoints":"http://h:1,"`, `bcs.custom-storage-endpoints: an element is empty, ignored`},
		{`"queueFullTimeout":"2s"`, `bcs.queueFullTimeout: has no effect without bcs.queueFull "drop"`},
		{`"queueFull":"drop","queueFullTimeout":"2s"`, ""},
		{`"strategy":"single","podQueueNum":30`, `bcs.podQueueNum: has no effect with bcs.strategy "single", which has one queue per kind`},
		{`"strategy":"single"`, ""},
		{`"queueFull":"block","handlerQueueLen":100`, `bcs.queueFull: blocks the watch of Events, too: bcs.eventQueueLen, 20000, at which the oldest would be dropped, is more than bcs.handlerQueueLen, 100`},
		{`"queueFull":"block","handlerQueueLen":100,"eventQueueLen":100`, ""},
	} {
		if !strings.Contains(tc.bcs, "endpoints") {
			tc.bcs += `,"custom-storage-endpoints":"http://h:1"`
		}
		cfg, warnings, err := Parse("c.json", []byte(`{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},"bcs":{`+tc.bcs+`}}`))
		if err != nil || len(cfg.BCS.CustomStorageEndpoints) != 1 {
			t.Errorf("%s: endpoints %q, %v", tc.bcs, cfg.BCS.CustomStorageEndpoints, err)
		}
		if tc.want != "" {
			tc.want = "c.json:1: " + tc.want
		}
		if got := strings.Join(warnings, "\n"); got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.bcs, got, tc.want)
		}
	}
}

func TestFilterErrors(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"type", `{"k8sResourceWhiteList":"v1"}`, `f.json:1: k8sResourceWhiteList: want a list, got a string`},
		{"element", "{\"k8sResourceWhiteList\":[\"v1\",\n7]}", `f.json:2: k8sResourceWhiteList[1]: want a string, got 7`},
		{"empty mask", `{"resourceMaskers":[{"kind":"Pod","path":[]}]}`, `f.json:1: resourceMaskers[0]: want a kind and a path of at least one non-empty element; as it is, nothing would be masked`},
		{"contradiction", "{\"isFilterManagedFields\": true,\n\"keepManagedFields\": false}", `f.json:2: keepManagedFields: false contradicts isFilterManagedFields in line 1, which means the same in spite of its name: give one of them`},
		{"alias of another type", `{"keepManagedFields": "yes"}`, `f.json:1: keepManagedFields: want true or false, got "yes"`},
		{"misspelt alias", `{"keepManagedField": true}`, `f.json:1: keepManagedField: unknown key, did you mean "keepManagedFields"?`},
		{"misspelt", `{"resourceMasker":[]}`, `f.json:1: resourceMasker: unknown key, did you mean "resourceMaskers"?`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, _, err := ParseFilter("f.json", []byte(tc.in)); err == nil || err.Error() != tc.want {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

// TestKeepManagedFields: both names of the key mean the same.
func TestKeepManagedFields(t *testing.T) {
	for in, want := range map[string]bool{
		`{}`: false, `{"isFilterManagedFields": true}`: true, `{"keepManagedFields": true}`: true, `{"keepManagedFields": false}`: false,
		`{"keepManagedFields": true, "isFilterManagedFields": true}`: true,
	} {
		f, warnings, err := ParseFilter("f.json", []byte(in))
		if err != nil || len(warnings) > 0 || f.KeepManagedFields != want {
			t.Errorf("%s: %v, %q, %v", in, f.KeepManagedFields, warnings, err)
		}
	}
}

func TestMissingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.json")
	if _, _, err := Load(path); err == nil || err.Error() != path+": cannot be read: no such file or directory" {
		t.Errorf("got %v", err)
	}
	if _, _, err := LoadFilter(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("got %v", err)
	}
}

func TestRoundTrip(t *testing.T) {
	b, err := Duration(1500 * time.Millisecond).MarshalJSON()
	if err != nil || string(b) != `"1.5s"` {
		t.Errorf("%s, %v", b, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add([]byte(`{"bcs":{"tls":null,"podQueueNum":1e3}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, err := Parse("c", b); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("error is not one line: %q", err)
		}
	})
}

func FuzzParseFilter(f *testing.F) {
	shipped, err := os.ReadFile("../../deploy/k8s-watch/filter.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(shipped)
	f.Add([]byte(`{"resourceMaskers":[{"kind":"Pod","path":["a"]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		flt, _, err := ParseFilter("f", b)
		if err == nil {
			for _, m := range flt.ResourceMaskers {
				if len(m.Path) == 0 {
					t.Error("a masker that masks nothing was accepted")
				}
			}
		}
	})
}

// TestShardWarnings: what shards do not divide, and what means nothing without them, is named.
func TestShardWarnings(t *testing.T) {
	const shards = `"shards":2,"leaderElection":{"enabled":true},`
	for _, tc := range []struct{ keys, want string }{
		{`"shardBy":"name",`, "shardBy: has no effect without shards"},
		{shards + `"shardBy":"namespace",`, ""},
		{shards + `"resourceWatcher":{"enabled":true,"watches":{"pinned":["v1/pods"]}},`, "resourceWatcher.watches.pinned: shards do not divide these kinds"},
		{`"resourceWatcher":{"enabled":true,"watches":{"pinned":["v1/pods"]}},`, ""},
	} {
		_, warnings, err := Parse("f", []byte("{"+tc.keys+`"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},"bcs":{"custom-storage-endpoints":"http://h"}}`))
		if err != nil || (len(warnings) > 0) != (tc.want != "") || tc.want != "" && !strings.Contains(warnings[0], tc.want) {
			t.Errorf("%s: %v, %v; want %q", tc.keys, warnings, err, tc.want)
		}
	}
}
