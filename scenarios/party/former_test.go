package party

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/storagemock"
	"github.com/watchbench/watchbench/storagemock/store"
)

// TestFormer: what storage was sent and holds no more is there with what the apiserver served at its
// version, if that is still known; of another content it says which field. Objects that were deleted
// are there too, managed fields are not missed, and what both hold in the end is not there.
func TestFormer(t *testing.T) {
	api, err := apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Pods, apisim.Namespaces}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.Apply(apisim.Namespaces.Key(), []byte(`{"metadata":{"name":"a"}}`)); err != nil {
		t.Fatal(err)
	}
	mock, err := storagemock.New(storagemock.DefaultConfig(), storagemock.Settings{Registry: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = mock.Close() }()
	ignore := func(store.Change) {}
	key := func(name string) store.Key { return store.Key{Cluster: "C", Kind: "Pod", Namespace: "a", Name: name} }
	copied := func(name, phase string, edit func(string) string) {
		t.Helper()
		o, err := api.Apply(apisim.Pods.Key(), fmt.Appendf(nil,
			`{"metadata":{"name":%q,"namespace":"a","managedFields":[{"manager":"x"}]},"status":{"phase":%q}}`, name, phase))
		if err != nil {
			t.Fatal(err)
		}
		body := strings.Replace(string(o.JSON()), `,"managedFields":[{"manager":"x"}]`, "", 1)
		if edit != nil {
			body = edit(body)
		}
		mock.Store().Put(key(name), store.Object{Data: []byte(body), Meta: store.ParseMeta([]byte(body))}, time.Now(), ignore)
	}
	copied("web", "Pending", nil)
	api.Compact()
	copied("web", "Running", func(body string) string { return strings.Replace(body, "Running", "Failed", 1) })
	copied("web", "Succeeded", nil)
	copied("job", "Running", nil)
	mock.Store().Delete(key("job"), nil, "", time.Now(), ignore)
	copied("web", "Failed", nil)

	apiserver, admin := httptest.NewServer(api), httptest.NewServer(mock.AdminHandler(prometheus.NewRegistry(), false))
	defer apiserver.Close()
	defer admin.Close()
	kinds := []string{"Pod"}
	all, err := Former(t.Context(), &Storage{admin: adminOf(admin.URL)},
		&APIServer{Base: apiserver.URL, http: apiserver.Client()}, kinds, check.Rules{Kinds: kinds})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range all {
		got = append(got, fmt.Sprint(r.Name, " ", r.Served != "", " ", r.Served == r.Digest, " ", r.Differs))
	}
	want := []string{
		"web false false ", `web true false status.phase: stored "Failed", expected "Running"`,
		"job true true ", "web true true ",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func adminOf(url string) admin { return admin{newClient(), url} }
