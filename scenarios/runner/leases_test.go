package runner

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	restclient "k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
)

// TestLeasesAreFollowed: the record has each state of the election's Leases in order, nothing of members and of other
// elections, and says which replica held them.
func TestLeasesAreFollowed(t *testing.T) {
	server, err := apisim.New(apisim.Config{Resources: apisim.BuiltIn()})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(server)
	t.Cleanup(front.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := kubeapi.WriteConfig(kubeconfig, kubeapi.ConfigFor("x", &restclient.Config{Host: front.URL})); err != nil {
		t.Fatal(err)
	}
	api, err := party.NewAPIServer(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	put := func(name, holder string, transitions int) {
		t.Helper()
		now := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z07:00")
		data, err := json.Marshal(map[string]any{"metadata": map[string]any{"namespace": party.LeaseNamespace, "name": name}, "spec": map[string]any{
			"holderIdentity": holder, "acquireTime": now, "renewTime": now, "leaseDurationSeconds": 16, "leaseTransitions": transitions}})
		if err == nil {
			_, err = server.Apply("leases.coordination.k8s.io", data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put("run-0", "host-7-a", 0)
	c := &cell{site: &site{dir: t.TempDir(), leases: leaseLog{names: []string{"run-0", "run-1"}}}}
	l := &c.leases
	if err := l.follow(t.Context(), api); err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if _, moved := l.latest(); moved {
		t.Error("nothing moved")
	}
	put("run-member-host-7-a", "host-7-a", 0)
	put("other-0", "host-7-a", 0)
	put("run", "2-shards", 0)
	put("run-1", "host-8-b", 0)
	put("run-0", "host-8-b", 1)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if now, moved := l.latest(); moved && now[0].Holder == "host-8-b" && now[1].Holder == "host-8-b" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(l.latest())
		}
	}
	l.close()
	if err := c.saveLeases(); err != nil {
		t.Fatal(err)
	}
	saved, err := history.LoadLines[history.Lease](c.dir, history.FileLeases)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range saved {
		got = append(got, fmt.Sprintln(x.Shard, x.Holder, x.Instance, x.Transitions, x.Lasts))
		if x.Time < x.Acquired || x.Acquired == 0 || x.Renewed == 0 {
			t.Errorf("%+v", x)
		}
	}
	if want := "[0 host-7-a -1 0 16000000000\n 1 host-8-b -1 0 16000000000\n 0 host-8-b -1 1 16000000000\n]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}
