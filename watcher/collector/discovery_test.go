package collector_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/watcher/collector"
)

// resource in the aggregated form and in the older one.
func both(name, kind string, namespaced bool, verbs string) (aggregated, older string) {
	scope := "Cluster"
	if namespaced {
		scope = "Namespaced"
	}
	list := `["` + strings.ReplaceAll(verbs, " ", `","`) + `"]`
	return fmt.Sprintf(`{"resource":%q,"responseKind":{"kind":%q},"scope":%q,"verbs":%s,"subresources":[{"subresource":"status"}]}`, name, kind, scope, list),
		fmt.Sprintf(`{"name":%q,"kind":%q,"namespaced":%v,"verbs":%s},{"name":"%s/status","kind":%q,"namespaced":%v,"verbs":["get","list","watch"]}`, name, kind, namespaced, list, name, kind, namespaced)
}

type served struct {
	version, resources, older string
	broken                    bool
}

// api serves groups in the form that is asked for.
func api(t *testing.T, aggregated bool, groups map[string][]served, order []string) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
		if len(path) > 1 {
			group, version := "", path[1]
			if path[0] == "apis" {
				group, version = path[1], path[2]
			}
			for _, s := range groups[group] {
				if s.version == version && !s.broken {
					_, _ = fmt.Fprintf(w, `{"kind":"APIResourceList","resources":[%s]}`, s.older)
					return
				}
			}
			http.Error(w, "service unavailable", http.StatusServiceUnavailable)
			return
		}
		var items []string
		for _, g := range order {
			if (g == "") != (path[0] == "api") {
				continue
			}
			var versions []string
			for _, s := range groups[g] {
				switch {
				case aggregated && s.broken:
					versions = append(versions, fmt.Sprintf(`{"version":%q,"freshness":"Stale"}`, s.version))
				case aggregated:
					versions = append(versions, fmt.Sprintf(`{"version":%q,"freshness":"Current","resources":[%s]}`, s.version, s.resources))
				case g == "":
					versions = append(versions, fmt.Sprintf("%q", s.version))
				default:
					versions = append(versions, fmt.Sprintf(`{"groupVersion":"%s/%s","version":%q}`, g, s.version, s.version))
				}
			}
			switch all := strings.Join(versions, ","); {
			case aggregated:
				items = append(items, fmt.Sprintf(`{"metadata":{"name":%q,"creationTimestamp":null},"versions":[%s]}`, g, all))
			case g == "":
				_, _ = fmt.Fprintf(w, `{"kind":"APIVersions","versions":[%s]}`, all)
				return
			default:
				items = append(items, fmt.Sprintf(`{"name":%q,"versions":[%s],"preferredVersion":{"version":%q}}`, g, all, groups[g][0].version))
			}
		}
		if aggregated {
			_, _ = fmt.Fprintf(w, `{"kind":"APIGroupDiscoveryList","items":[%s]}`, strings.Join(items, ","))
			return
		}
		_, _ = fmt.Fprintf(w, `{"kind":"APIGroupList","groups":[%s]}`, strings.Join(items, ","))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func version(name string, resources ...[2]string) served {
	s := served{version: name}
	var a, o []string
	for _, r := range resources {
		a, o = append(a, r[0]), append(o, r[1])
	}
	s.resources, s.older = strings.Join(a, ","), strings.Join(o, ",")
	return s
}

func res(name, kind string, namespaced bool, verbs string) [2]string {
	a, o := both(name, kind, namespaced, verbs)
	return [2]string{a, o}
}

// discover returns what a filter lets through.
func discover(t *testing.T, d *collector.Discovery, f collector.DiscoveryFilter) ([]collector.Resource, error) {
	groups, err := d.GroupsOf(t.Context(), f.WantsVersion)
	if err != nil {
		return nil, err
	}
	return f.Resources(groups)
}

func TestDiscovery(t *testing.T) {
	const all = "get list watch"
	groups := map[string][]served{
		"": {version("v1", res("pods", "Pod", true, all), res("nodes", "Node", false, all), res("namespaces", "Namespace", false, all), res("secrets", "Secret", true, all),
			res("events", "Event", true, all), res("bindings", "Binding", true, "create"), res("componentstatuses", "ComponentStatus", false, all), res("tokens", "Token", true, "create"))},
		"apps":              {version("v1", res("deployments", "Deployment", true, all)), version("v1beta1", res("deployments", "Deployment", true, all), res("scales", "Scale", true, all))},
		"autoscaling":       {version("v2", res("hpas", "HPA", true, all)), version("v1", res("hpas", "HPA", true, all))},
		"storage.k8s.io":    {version("v1", res("storageclasses", "StorageClass", false, all), res("csinodes", "CSINode", false, all))},
		"events.k8s.io":     {version("v1", res("events", "Event", true, all))},
		"example.com":       {version("v1", res("pods", "Pod", true, all))},
		"another.com":       {version("v1", res("pods", "Pod", true, all))},
		"metrics.k8s.io":    {{version: "v1beta1", broken: true}},
		"custom.metrics.io": {{version: "v1", broken: true}, version("v1beta1", res("things", "Thing", true, all))},
		"seldom.io":         {version("v2", res("things", "Thing", true, "get list")), version("v1", res("things", "Thing", true, all))},
		"acme.io":           {version("v1", res("events", "Event", true, all))},
	}
	order := []string{"", "example.com", "another.com", "apps", "autoscaling", "storage.k8s.io", "events.k8s.io", "metrics.k8s.io", "custom.metrics.io", "seldom.io", "acme.io"}
	white := []string{"v1", "apps/v1", "apps/v1beta1", "autoscaling/v1", "storage.k8s.io/v1", "events.k8s.io/v1", "example.com/v1", "another.com/v1"}
	tests := []struct {
		name   string
		filter collector.DiscoveryFilter
		want   string
		broken string
	}{
		{"white list", collector.DiscoveryFilter{GroupVersions: white},
			"Deployment=apps/v1 Event=v1 HPA=autoscaling/v1 Namespace=v1 Node=v1 Pod=v1 Pod.another.com=another.com/v1 Pod.example.com=example.com/v1 Scale=apps/v1beta1 Secret=v1 StorageClass=storage.k8s.io/v1", ""},
		{"nothing", collector.DiscoveryFilter{}, "", ""},
		{"no core", collector.DiscoveryFilter{GroupVersions: []string{"events.k8s.io/v1", "another.com/v1", "example.com/v1"}},
			"Event=events.k8s.io/v1 Pod=another.com/v1 Pod.example.com=example.com/v1", ""},
		{"exceptions", collector.DiscoveryFilter{GroupVersions: []string{"v1", "apps/v1"}, Exceptions: []collector.GroupKinds{{GroupVersion: "v1", Kinds: []string{"Secret", "Event", "Namespace"}}, {GroupVersion: "apps/v1"}}},
			"Namespace=v1 Node=v1 Pod=v1", ""},
		{"specification", collector.DiscoveryFilter{GroupVersions: []string{"v1", "apps/v1"}, Specification: []collector.GroupKinds{{GroupVersion: "apps/v1"}, {GroupVersion: "v1", Kinds: []string{"Pod"}}}},
			"Deployment=apps/v1 Namespace=v1 Pod=v1", ""},
		{"one namespace", collector.DiscoveryFilter{GroupVersions: []string{"v1"}, Namespaced: true}, "Event=v1 Pod=v1 Secret=v1", ""},
		{"broken group", collector.DiscoveryFilter{GroupVersions: []string{"apps/v1", "metrics.k8s.io/v1beta1"}}, "Deployment=apps/v1", "metrics.k8s.io/v1beta1"},
		{"broken version that nobody wants", collector.DiscoveryFilter{GroupVersions: []string{"custom.metrics.io/v1beta1"}}, "Thing=custom.metrics.io/v1beta1", ""},
		{"broken version that is wanted", collector.DiscoveryFilter{GroupVersions: []string{"custom.metrics.io/v1", "custom.metrics.io/v1beta1"}}, "", "custom.metrics.io/v1"},
		{"preferred version without watch", collector.DiscoveryFilter{GroupVersions: []string{"seldom.io/v2", "seldom.io/v1"}}, "Thing=seldom.io/v1", ""},
		{"Events of other groups", collector.DiscoveryFilter{GroupVersions: []string{"acme.io/v1", "events.k8s.io/v1"}}, "Event=events.k8s.io/v1 Event.acme.io=acme.io/v1", ""},
		{"no Event of Kubernetes", collector.DiscoveryFilter{GroupVersions: []string{"acme.io/v1"}}, "Event.acme.io=acme.io/v1", ""},
	}
	for _, aggregated := range []bool{true, false} {
		url := api(t, aggregated, groups, order)
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%s/aggregated=%v", tt.name, aggregated), func(t *testing.T) {
				d, err := collector.NewDiscovery(&rest.Config{Host: url})
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				found, err := discover(t, d, tt.filter)
				var got []string
				for _, r := range found {
					got = append(got, r.Key()+"="+r.GroupVersion())
				}
				if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
					t.Error(diff)
				}
				var partial *collector.DiscoveryError
				if errors.As(err, &partial) != (tt.broken != "") || tt.broken == "" && err != nil {
					t.Fatalf("error %v, want one about %q", err, tt.broken)
				}
				for gv := range strings.FieldsSeq(tt.broken) {
					if partial.Broken[gv] == nil || !strings.Contains(err.Error(), gv) {
						t.Errorf("%s is not among the broken: %v", gv, err)
					}
				}
			})
		}
	}
}

// TestAsksForWantedVersionsOnly: in the older form, where each version is a request, one that
// hangs must not hold up the others.
func TestAsksForWantedVersionsOnly(t *testing.T) {
	groups := map[string][]served{"x.io": {{version: "v2", broken: true}, version("v1", res("things", "Thing", true, "list watch"))}}
	target, err := url.Parse(api(t, false, groups, []string{"", "x.io"}))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var asked []string
	proxy := httputil.NewSingleHostReverseProxy(target)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.Path)
		mu.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	defer srv.Close()
	d, err := collector.NewDiscovery(&rest.Config{Host: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if found, err := discover(t, d, collector.DiscoveryFilter{GroupVersions: []string{"x.io/v1"}}); err != nil || len(found) != 1 {
		t.Errorf("%v, %v", found, err)
	}
	if diff := cmp.Diff([]string{"/api", "/apis", "/apis/x.io/v1"}, asked); diff != "" {
		t.Error(diff)
	}
}

func TestDiscoveryErrors(t *testing.T) {
	for answer, want := range map[string]string{
		`<html>`: "not what an apiserver sends", `{"kind":"Status"}`: `is a "Status"`, statusJSON(403, "Forbidden", "no rights"): `is a "Status"`,
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, answer) }))
		d, err := collector.NewDiscovery(&rest.Config{Host: srv.URL})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := discover(t, d, collector.DiscoveryFilter{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", answer, err, want)
		}
		d.Close()
		srv.Close()
	}
}

// TestGroups: all that is served, in both forms, with what readers call it; a version that
// cannot be learned says why.
func TestGroups(t *testing.T) {
	pod := [2]string{
		`{"resource":"pods","responseKind":{"kind":"Pod"},"scope":"Namespaced","singularResource":"pod","shortNames":["po"],"categories":["all"],"verbs":["list","watch"]}`,
		`{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","shortNames":["po"],"categories":["all"],"verbs":["list","watch"]},{"name":"pods/status","kind":"Pod","namespaced":true,"verbs":["get"]}`,
	}
	groups := map[string][]served{
		"":       {version("v1", pod)},
		"x.io":   {version("v2", res("things", "Thing", false, "get")), version("v1", res("things", "Thing", false, "list"))},
		"bad.io": {{version: "v1", broken: true}},
	}
	thing := func(version, verb string) collector.APIVersion {
		return collector.APIVersion{Name: version, Resources: []collector.APIResource{{Resource: collector.Resource{Group: "x.io", Version: version, Name: "things", Kind: "Thing"}, Verbs: []string{verb}}}}
	}
	want := []collector.APIGroup{
		{Versions: []collector.APIVersion{{Name: "v1", Resources: []collector.APIResource{{
			Resource: collector.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true},
			Singular: "pod", ShortNames: []string{"po"}, Categories: []string{"all"}, Verbs: []string{"list", "watch"},
		}}}}},
		{Name: "x.io", Versions: []collector.APIVersion{thing("v2", "get"), thing("v1", "list")}},
		{Name: "bad.io", Versions: []collector.APIVersion{{Name: "v1"}}},
	}
	for _, aggregated := range []bool{true, false} {
		d, err := collector.NewDiscovery(&rest.Config{Host: api(t, aggregated, groups, []string{"", "x.io", "bad.io"})})
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.GroupsOf(t.Context(), func(string) bool { return true })
		if err != nil || len(got) != 3 || got[2].Versions[0].Err == nil {
			t.Fatalf("%+v %v", got, err)
		}
		got[2].Versions[0].Err = nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("aggregated=%v: %s", aggregated, diff)
		}
		d.Close()
	}
}
