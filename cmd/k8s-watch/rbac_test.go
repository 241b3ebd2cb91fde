package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/kubeapi"
)

// asAccount passes requests on to an apiserver as if a ServiceAccount made them. It
// records them as "group/resource verb", and those that were forbidden.
type asAccount struct {
	*httptest.Server
	mu        sync.Mutex // guards what follows
	requested map[string]bool
	forbidden []string
}

func newAsAccount(t *testing.T, admin *rest.Config, namespace, name string) *asAccount {
	t.Helper()
	target, err := url.Parse(admin.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(admin)
	if err != nil {
		t.Fatal(err)
	}
	a := &asAccount{requested: map[string]bool{}}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1, Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Set("Impersonate-User", "system:serviceaccount:"+namespace+":"+name)
			r.Out.Header["Impersonate-Group"] = []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
		},
		ModifyResponse: func(r *http.Response) error {
			a.mu.Lock()
			defer a.mu.Unlock()
			if what := request(r.Request); what != "" {
				a.requested[what] = true
			}
			if r.StatusCode == http.StatusForbidden || r.StatusCode == http.StatusUnauthorized {
				a.forbidden = append(a.forbidden, r.Request.Method+" "+r.Request.URL.Path)
			}
			return nil
		},
	}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("sendInitialEvents") { // as a server without streamed lists: every kind is listed, then watched
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

// state returns the requests so far, sorted, and what was forbidden.
func (a *asAccount) state() (requested, forbidden []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.requested)), slices.Clone(a.forbidden)
}

// request is what RBAC takes a request for; discovery is "".
func request(r *http.Request) string {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	group := ""
	if path[0] == "apis" && len(path) > 1 {
		group, path = path[1], path[1:]
	}
	if len(path) < 3 {
		return ""
	}
	path = path[2:]
	if path[0] == "namespaces" && len(path) > 2 {
		path = path[2:]
	}
	verb := map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodGet: "get"}[r.Method]
	switch {
	case verb == "get" && r.URL.Query().Has("watch"):
		verb = "watch"
	case verb == "get" && len(path) == 1:
		verb = "list"
	}
	return group + "/" + path[0] + " " + verb
}

// grant creates the printed objects and returns what they allow, as asAccount
// records it.
func grant(t *testing.T, client kubernetes.Interface, printed []byte) []string {
	t.Helper()
	var rules []rbacv1.PolicyRule
	ctx, api, opts := t.Context(), client.RbacV1(), metav1.CreateOptions{}
	removed := func(remove func(context.Context, string, metav1.DeleteOptions) error, name string) {
		t.Cleanup(func() {
			if err := remove(context.Background(), name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	for text := range bytes.SplitSeq(bytes.TrimPrefix(printed, []byte("---\n")), []byte("---\n")) {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(text, &kind); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		decode := func(into any) {
			if err := yaml.UnmarshalStrict(text, into); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
		}
		var err error
		switch kind.Kind {
		case "ClusterRole":
			var o rbacv1.ClusterRole
			decode(&o)
			rules = append(rules, o.Rules...)
			_, err = api.ClusterRoles().Create(ctx, &o, opts)
			removed(api.ClusterRoles().Delete, o.Name)
		case "ClusterRoleBinding":
			var o rbacv1.ClusterRoleBinding
			decode(&o)
			_, err = api.ClusterRoleBindings().Create(ctx, &o, opts)
			removed(api.ClusterRoleBindings().Delete, o.Name)
		case "Role":
			var o rbacv1.Role
			decode(&o)
			rules = append(rules, o.Rules...)
			_, err = api.Roles(o.Namespace).Create(ctx, &o, opts)
			removed(api.Roles(o.Namespace).Delete, o.Name)
		case "RoleBinding":
			var o rbacv1.RoleBinding
			decode(&o)
			_, err = api.RoleBindings(o.Namespace).Create(ctx, &o, opts)
			removed(api.RoleBindings(o.Namespace).Delete, o.Name)
		default:
			t.Fatalf("printed a %q:\n%s", kind.Kind, text)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	allowed := map[string]bool{}
	for _, r := range rules {
		for _, resource := range r.Resources {
			for _, verb := range r.Verbs {
				allowed[r.APIGroups[0]+"/"+resource+" "+verb] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(allowed))
}

// The printed role is what a watcher requests: with nothing else it is refused nothing,
// and it uses all of it.
func TestRBAC(t *testing.T) {
	env := clustertest.Start(t)
	client := kubernetes.NewForConfigOrDie(env.Config)
	definitions := apiextensionsclient.NewForConfigOrDie(env.Config).ApiextensionsV1().CustomResourceDefinitions()
	crd := &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "boats.harbour.example"},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: "harbour.example", Scope: apiextensions.NamespaceScoped,
			Names: apiextensions.CustomResourceDefinitionNames{Plural: "boats", Kind: "Boat"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{Type: "object"}}}},
		},
	}
	if _, err := definitions.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := definitions.Delete(context.Background(), crd.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	for name, extra := range map[string]string{"cluster": "", "namespace": "", "shards": `,"shards":3`} {
		t.Run(name, func(t *testing.T) {
			namespaced := name == "namespace"
			s := newStation(t)
			ns := clustertest.Namespace(t, env.Config)
			s.write(s.filter, `{"k8sResourceWhiteList":["v1","apps/v1","storage.k8s.io/v1"],"crdResourceWhiteList":["harbour.example/v1"],
"apiResourceException":[{"groupVersion":"v1","resourceKinds":["Secret","ConfigMap","Endpoints"]}]}`)
			watch := `"disable_netservice":true`
			if namespaced {
				watch += fmt.Sprintf(`,"namespace":%q`, ns)
			}
			api := newAsAccount(t, env.Config, ns, "watcher")
			configure := func(k8s string) {
				s.write(s.cfg, fmt.Sprintf(`{"default":{"clusterID":"c"},"watch_resource":{%s},"leaderElection":{"enabled":true,"namespace":%q},
"bcs":{"custom-storage-endpoints":%q},"k8s":{%s},"filterConfigPath":%q,"port":0,"metric_port":0%s}`, watch, ns, s.storage, k8s, s.filter, extra))
			}
			configure("")
			cmd := program(t.Context(), t, "rbac", "-f", s.cfg, "--kubeconfig", s.kubeconfig, "--namespace", ns, "--name", "watcher")
			cmd.Stderr = os.Stderr
			printed, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			allowed := grant(t, client, printed)
			configure(fmt.Sprintf(`"master":%q`, api.URL))
			watcher := s.command()
			_, lines := output(t, watcher)
			var reading sync.WaitGroup
			reading.Go(func() {
				for lines.Scan() { // or it would block
				}
			})
			// The white list names a group of which there is one resource.
			for i := range allowed {
				allowed[i] = strings.Replace(allowed[i], "harbour.example/*", "harbour.example/boats", 1)
			}
			var requested, forbidden []string
			for range 300 {
				requested, forbidden = api.state()
				if len(forbidden) > 0 || slices.Equal(requested, allowed) {
					break
				}
				time.Sleep(100 * time.Millisecond)
			}
			time.Sleep(3 * time.Second) // a renewal of the lease, and a request that would be too many
			requested, forbidden = api.state()
			if len(forbidden) > 0 {
				t.Errorf("forbidden: %v\n%s", forbidden, printed)
			}
			if diff := cmp.Diff(allowed, requested); diff != "" {
				t.Errorf("allowed (-) and requested (+) differ:\n%s", diff)
			}
			for _, what := range requested {
				if strings.HasPrefix(what, "/secrets ") {
					t.Error("Secrets are excluded by the filter: ", what)
				}
			}
			if err := watcher.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			reading.Wait()
			if err := watcher.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRBACSlip: what is to be left out and is misspelt is not granted in silence.
func TestRBACSlip(t *testing.T) {
	kubeconfig := writeKubeconfig(t, discoveryServer(t).URL)
	for exception, want := range map[string]string{
		`{"groupVersion":"v1","resourceKinds":["ConfigMap","Secrets"]}`: `filter.json: apiResourceException[0]: v1 has no kind "Secrets", did you mean "Secret"?`,
		`{"groupVersion":"app/v1"}`:                                     `filter.json: apiResourceException[0]: "app/v1" is not in k8sResourceWhiteList, did you mean "apps/v1"?`,
	} {
		cfg := configFiles(t, `{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},"bcs":{"custom-storage-endpoints":"http://h"},"filterConfigPath":"FILTER"}`,
			`{"k8sResourceWhiteList":["v1","apps/v1"],"apiResourceException":[`+exception+`]}`)
		code, last, all := command(t, "rbac", "-f", cfg, "--kubeconfig", kubeconfig)
		if code != exitBadInput || !strings.HasSuffix(last, want) || strings.Contains(all, "kind: ") {
			t.Errorf("exit code %d, want %d and %s:\n%s", code, exitBadInput, want, all)
		}
	}
}

// writeKubeconfig names an apiserver without credentials.
func writeKubeconfig(t *testing.T, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := kubeapi.WriteConfig(file, kubeapi.ConfigFor("test", &rest.Config{Host: server})); err != nil {
		t.Fatal(err)
	}
	return file
}

var update = flag.Bool("update", false, "write deploy/rbac/rbac.yaml")

// TestShippedRBAC: the roles beside the shipped filter are those that it needs, on the
// version of Kubernetes that the tests run.
func TestShippedRBAC(t *testing.T) {
	const dir = "../../deploy/k8s-watch/"
	cmd := program(t.Context(), t, "rbac", "-f", dir+"config.json", "--filterConfigPath", dir+"filter.json", "--kubeconfig", clustertest.Start(t).Kubeconfig)
	cmd.Stderr = os.Stderr
	printed, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	const file = "../../deploy/rbac/rbac.yaml"
	if *update {
		if err := os.WriteFile(file, printed, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	shipped, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(shipped), string(printed)); diff != "" {
		t.Errorf("run this test with -update:\n%s", diff)
	}
}
