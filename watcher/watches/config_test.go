package watches

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/setting"
)

func TestConfig(t *testing.T) {
	c := Default()
	if err := json.Unmarshal([]byte(`{"wait":"2s","pinned":["apps/v1/deployments","v1/pods"],"deny":["v1/secrets","*/tokens","x.io/*"]}`), &c); err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil || time.Duration(c.Wait) != 2*time.Second || !c.Lazy {
		t.Errorf("%+v: %v", c, err)
	}
	if text, err := json.Marshal(c); err != nil || !strings.Contains(string(text), `"wait":"2s"`) {
		t.Errorf("%s %v", text, err)
	}
	if err := json.Unmarshal([]byte(`{"ttl":"ten"}`), &c); err == nil || !strings.Contains(err.Error(), "want a duration") {
		t.Error(err)
	}
	for want, change := range map[string]func(*Config){
		"wait: ":                       func(c *Config) { c.Wait = setting.Duration(time.Minute) },
		"ttl: ":                        func(c *Config) { c.TTL = 0 },
		"maxWatches: -1":               func(c *Config) { c.MaxWatches = -1 },
		"maxWatches: 1: want at least": func(c *Config) { c.MaxWatches, c.Pinned = 1, []string{"v1/pods", "v1/nodes"} },
		"maxBytes: 0":                  func(c *Config) { c.MaxBytes = 0 },
		`pinned: "pods"`:               func(c *Config) { c.Pinned = []string{"pods"} },
		"deny withholds it":            func(c *Config) { c.Pinned = []string{"v1/secrets"} },
		`deny: "secrets"`:              func(c *Config) { c.Deny = []string{"secrets"} },
		`deny: "v1/Secret"`:            func(c *Config) { c.Deny = []string{"v1/Secret"} },
		`deny: "apps/v1/x"`:            func(c *Config) { c.Deny = []string{"apps/v1/x"} },
		`deny: "v1"`:                   func(c *Config) { c.Deny = []string{"v1"} },
	} {
		c := Default()
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestDeny(t *testing.T) {
	d, err := parseDeny([]string{"v1/secrets", "*/tokens", "x.io/*", "apps/deployments"})
	if err != nil {
		t.Fatal(err)
	}
	for r, want := range map[string]bool{
		"v1/secrets": true, "v2/secrets": true, "y.io/v1/secrets": false, "v1/pods": false, "v1/tokens": true, "z.io/v1/tokens": true,
		"x.io/v1/things": true, "apps/v1beta1/deployments": true, "apps/v1/replicasets": false,
	} {
		gvr, err := ParseGVR(r)
		if err != nil || gvr.String() != r {
			t.Fatalf("%s: %v %v", r, gvr, err)
		}
		if d.has(gvr.Group, gvr.Resource) != want {
			t.Errorf("%s withheld: %v", r, !want)
		}
	}
}

func FuzzParseGVR(f *testing.F) {
	f.Add("apps/v1/deployments")
	f.Add("v1/pods")
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := ParseGVR(text); err == nil && r.String() != text {
			t.Errorf("%q is %+v", text, r)
		}
	})
}
