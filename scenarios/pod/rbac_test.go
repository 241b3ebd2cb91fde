package pod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/churn"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// seenRequests are requests as RBAC takes them, "group/resource verb", and those that were forbidden.
type seenRequests struct {
	mu              sync.Mutex // guards what follows
	made, forbidden map[string]bool
}

// recorder records what goes through it.
type recorder struct {
	http.RoundTripper
	seen *seenRequests
}

func (q recorder) WrappedRoundTripper() http.RoundTripper { return q.RoundTripper }

func (q recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := q.RoundTripper.RoundTrip(r)
	q.seen.mu.Lock()
	defer q.seen.mu.Unlock()
	if what := asRBAC(r); what != "" {
		q.seen.made[what] = true
		if err == nil && resp.StatusCode == http.StatusForbidden {
			q.seen.forbidden[what] = true
		}
	}
	return resp, err
}

func asRBAC(r *http.Request) string {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	group := ""
	if path[0] == "apis" && len(path) > 1 {
		group, path = path[1], path[1:]
	}
	if len(path) < 3 {
		return ""
	}
	if path = path[2:]; path[0] == "namespaces" && len(path) > 2 {
		path = path[2:]
	}
	verb := map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodGet: "get", http.MethodPatch: "patch", http.MethodDelete: "delete"}[r.Method]
	switch {
	case verb == "get" && r.URL.Query().Has("watch"):
		verb = "watch"
	case verb == "get" && len(path) == 1:
		verb = "list"
	case verb == "delete" && len(path) == 1:
		verb = "deletecollection"
	}
	if len(path) > 2 {
		path[0] += "/" + path[2]
	}
	return group + "/" + path[0] + " " + verb
}

// applied creates objects in a cluster.
func applied(t *testing.T, cfg *rest.Config, objects Rights) {
	t.Helper()
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		gvr := o.GroupVersionKind().GroupVersion().WithResource(strings.ToLower(o.GetKind()) + "s")
		if _, err := client.Resource(gvr).Namespace(o.GetNamespace()).Create(t.Context(), o, metav1.CreateOptions{FieldValidation: "Strict"}); err != nil {
			t.Fatalf("%v\n%v", err, o)
		}
	}
}

// granted are the rights of whom cfg is, in a namespace, but for those that everybody has.
func granted(t *testing.T, cfg *rest.Config, namespace string) map[string]bool {
	t.Helper()
	review, err := kubernetes.NewForConfigOrDie(cfg).AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(),
		&authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}, metav1.CreateOptions{})
	if err != nil || review.Status.Incomplete {
		t.Fatalf("incomplete %v: %v", review.Status.Incomplete, err)
	}
	all := map[string]bool{}
	for _, r := range review.Status.ResourceRules {
		for _, g := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, v := range r.Verbs {
					if !strings.HasPrefix(g, "authorization.") && !strings.HasPrefix(g, "authentication.") {
						all[g+"/"+resource+" "+v] = true
					}
				}
			}
		}
	}
	return all
}

// A generator has the rights that it uses, and no others but those for what goes wrong, or is rare.
func TestGeneratorsRights(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*plan.Load)
		unused []string
	}{
		{"plain", func(l *plan.Load) { l.Bystander = &plan.Bystander{Kind: "ConfigMap", Rate: 2} }, []string{"/configmaps get"}},
		{"jobs", func(l *plan.Load) {
			l.Profile, l.Tuning = plan.ProfileBatchJobs, &plan.Tuning{TimeScale: 300}
		}, []string{
			"/configmaps get", "/configmaps update", "/events get", "/events update", // unclear answers, and what repeats
			"apps/daemonsets create", "apps/daemonsets get", "apps/daemonsets/status update", // other profiles
			"apps/deployments create", "apps/deployments get", "apps/deployments patch", "apps/deployments/status update",
			"apps/replicasets create", "apps/replicasets get", "apps/replicasets patch", "apps/replicasets/status update",
			"batch/jobs delete", "batch/jobs get", "discovery.k8s.io/endpointslices create", "discovery.k8s.io/endpointslices get",
			"discovery.k8s.io/endpointslices update", "watchbench.dev/widgets get", "watchbench.dev/widgets patch",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			env := clustertest.Start(t)
			ns := "rights-" + tc.name
			cfg := plan.Default()
			cfg.Seed, cfg.RunID, cfg.Model, cfg.Rate, cfg.Duration = 1, "rights"+tc.name, plan.ModelOpen, 20, units.Duration(6*time.Second)
			tc.change(&cfg.Load)
			objects, err := RBAC(ns, []plan.Load{cfg.Load}, []string{"Pod"})
			if err != nil {
				t.Fatal(err)
			}
			applied(t, env.Config, objects)
			defer forget(t, env.Config, ns)
			as := rest.CopyConfig(env.Config)
			as.Impersonate.UserName = "system:serviceaccount:" + ns + ":" + AccountLoad
			as.Impersonate.Groups = []string{"system:serviceaccounts", "system:authenticated"}
			rights := granted(t, as, corev1.NamespaceNodeLease)
			finalize(t, env.Config, ns) // of a cluster without controllers
			seen := &seenRequests{made: map[string]bool{}, forbidden: map[string]bool{}}
			as.Wrap(func(rt http.RoundTripper) http.RoundTripper { return recorder{rt, seen} })
			if err := play(t, cfg, as); err != nil {
				t.Errorf("%v: %q", err, slices.Sorted(maps.Keys(seen.forbidden)))
			}
			for what := range seen.forbidden {
				if !strings.HasSuffix(what, " deletecollection") { // of kinds that it does not write
					t.Errorf("it lacks %s", what)
				}
			}
			var unused []string
			for what := range rights {
				if !seen.made[what] {
					unused = append(unused, what)
				}
			}
			slices.Sort(unused)
			for _, what := range unused {
				if !slices.Contains(tc.unused, what) {
					t.Errorf("it has %s for nothing", what)
				}
			}
			if len(rights) < 15 {
				t.Errorf("it has %d rights: nothing was judged", len(rights))
			}
		})
	}
}

// play carries a plan out.
func play(t *testing.T, cfg plan.Config, as *rest.Config) error {
	t.Helper()
	p, err := plan.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	log, err := oplog.Create(filepath.Join(t.TempDir(), "ops"))
	if err != nil {
		t.Fatal(err)
	}
	silent := slog.New(slog.DiscardHandler)
	e, err := churn.New(p, churn.Settings{REST: as, Log: log, Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	err = churn.NewSession(e, p.Config(), churn.SessionSettings{Out: io.Discard, Log: log, Logger: silent}).Run(context.Background())
	return errors.Join(err, log.Close())
}

// finalize lets the generator do what is a controller's.
func finalize(t *testing.T, cfg *rest.Config, ns string) {
	t.Helper()
	client, meta := kubernetes.NewForConfigOrDie(cfg).RbacV1(), metav1.ObjectMeta{Name: ns}
	_, err := client.ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta,
		Rules: []rbacv1.PolicyRule{allow("", "update", "namespaces/finalize")}}, metav1.CreateOptions{})
	if err == nil {
		_, err = client.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: ns},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: AccountLoad, Namespace: ns}}}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// forget removes what is of the cluster, for the next case.
func forget(t *testing.T, cfg *rest.Config, ns string) {
	client := kubernetes.NewForConfigOrDie(cfg).RbacV1()
	for _, name := range []string{AccountLoad, AccountWatcher, accountRunner, ns} {
		err := errors.Join(client.ClusterRoles().Delete(context.Background(), name, metav1.DeleteOptions{}),
			client.ClusterRoleBindings().Delete(context.Background(), name, metav1.DeleteOptions{}))
		if err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(client.Roles(corev1.NamespaceNodeLease).Delete(context.Background(), AccountLoad, metav1.DeleteOptions{}),
		client.RoleBindings(corev1.NamespaceNodeLease).Delete(context.Background(), AccountLoad, metav1.DeleteOptions{})); err != nil {
		t.Error(err)
	}
}

// A watcher only lists and watches: in a cluster none elects a leader.
func TestWatchersRights(t *testing.T) {
	objects, err := RBAC("x", []plan.Load{plan.DefaultLoad()}, []string{"Pod"})
	if err != nil {
		t.Fatal(err)
	}
	roles := 0
	for _, r := range rolesOf(t, objects) {
		if r.Name != AccountWatcher {
			continue
		}
		roles++
		for _, rule := range r.Rules {
			if !slices.Equal(rule.Verbs, []string{"list", "watch"}) || !slices.Equal(rule.Resources, []string{"pods"}) {
				t.Errorf("it may %v", rule)
			}
		}
	}
	if roles != 1 {
		t.Errorf("it has %d roles", roles)
	}
}

func TestRightsForUnknownKinds(t *testing.T) {
	if _, err := RBAC("x", []plan.Load{plan.DefaultLoad()}, []string{"Pod", "Foo"}); !badinput.Is(err) {
		t.Errorf("got %v", err)
	}
}

func rolesOf(t *testing.T, objects Rights) (all []rbacv1.ClusterRole) {
	t.Helper()
	for _, o := range objects {
		var r rbacv1.ClusterRole
		if !strings.HasSuffix(o.GetKind(), "Role") {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// The rights for several loads are those for each of them: a small load may need what a large one does not.
func TestRightsOfSeveralLoads(t *testing.T) {
	plain, profile := plan.DefaultLoad(), plan.DefaultLoad()
	profile.Profile = plan.ProfileServiceChurn
	rights := func(loads ...plan.Load) map[string]bool {
		t.Helper()
		objects, err := RBAC("x", loads, []string{"Pod", "Deployment", "Pod"})
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]bool{}
		for _, role := range rolesOf(t, objects) {
			rules := map[string]bool{}
			for _, r := range role.Rules {
				rule := fmt.Sprint(r.APIGroups, r.Resources, r.ResourceNames)
				if rules[rule] {
					t.Errorf("%s %s has two rules for %s", role.Kind, role.Name, rule)
				}
				rules[rule] = true
				for _, verb := range r.Verbs {
					all[fmt.Sprint(role.Kind, role.Name, rule, verb)] = true
				}
			}
		}
		return all
	}
	want := rights(plain)
	maps.Copy(want, rights(profile))
	if d := cmp.Diff(want, rights(plain, profile)); d != "" {
		t.Error(d)
	}
	if len(want) == len(rights(plain)) || len(want) == len(rights(profile)) {
		t.Error("one of the loads needs nothing that the other does not: nothing was judged")
	}
}
