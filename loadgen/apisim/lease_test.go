package apisim_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/loadgen/apisim"
)

// TestLeases: who writes Leases cannot tell the server from an apiserver.
func TestLeases(t *testing.T) {
	c := clustertest.Start(t)
	cfg := c.Config
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	simulated := httptest.NewServer(newServer(t, apisim.Config{Resources: apisim.BuiltIn()}))
	t.Cleanup(simulated.Close)
	a, b := leaseStory(t, client, strings.TrimSuffix(cfg.Host, "/")), leaseStory(t, simulated.Client(), simulated.URL)
	if len(a) != len(b) {
		t.Fatal(len(a), len(b))
	}
	for i := range a {
		if t.Log(a[i]); a[i] != b[i] {
			t.Errorf("%d: apiserver %s, simulated %s", i, a[i], b[i])
		}
	}
}

// leaseStory writes a Lease in each way that matters and says what came of it, without what differs between servers.
func leaseStory(t *testing.T, c *http.Client, host string) (all []string) {
	version, uid := "", ""
	do := func(method, name, body string) {
		t.Helper()
		path := "/apis/coordination.k8s.io/v1/namespaces/default/leases"
		if name != "" {
			path += "/" + name
		}
		req, err := http.NewRequestWithContext(t.Context(), method, host+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		var o struct {
			APIVersion, Kind, Reason string
			Metadata                 struct{ Name, UID, ResourceVersion string }
			Spec                     struct{ HolderIdentity string }
		}
		if resp.StatusCode < 300 || strings.Contains(string(text), `"kind":"Status"`) {
			_ = json.Unmarshal(text, &o)
		}
		all = append(all, fmt.Sprint(method, " ", resp.StatusCode, " ", o.APIVersion, " ", o.Kind, " ", o.Reason, " ", o.Metadata.Name, " ",
			o.Spec.HolderIdentity, " newer ", o.Metadata.ResourceVersion != "" && o.Metadata.ResourceVersion != version, " same ", o.Metadata.UID == uid))
		if o.Metadata.ResourceVersion != "" {
			version, uid = o.Metadata.ResourceVersion, o.Metadata.UID
		}
	}
	lease := func(name, rv, holder string) string {
		return fmt.Sprintf(`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"namespace":"default","name":%q,"resourceVersion":%q},"spec":{"holderIdentity":%q,"leaseDurationSeconds":16}}`, name, rv, holder)
	}
	const name = "apisim-lease"
	do("GET", name, "")
	do("POST", "", lease(name, "", "a"))
	do("POST", "", lease(name, "", "b"))
	do("PUT", name, lease(name, version, "a2"))
	stale := version
	do("PUT", name, lease(name, version, "b"))
	do("PUT", name, lease(name, stale, "c"))
	do("PUT", name, lease("another", version, "c"))
	do("POST", "", "no JSON")
	do("GET", name, "")
	do("DELETE", name, "")
	do("DELETE", name, "")
	do("PUT", name, lease(name, version, "d"))
	do("DELETE", name, "")
	return all
}
