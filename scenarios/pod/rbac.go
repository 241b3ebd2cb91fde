package pod

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/loadgen/shape"
)

// Names of the ServiceAccounts that RBAC makes.
const (
	AccountLoad    = "watchbench-load"
	AccountWatcher = "watchbench-watcher"
	accountRunner  = "watchbench-runner"
)

const rbacGroup = rbacv1.GroupName

// allow makes a rule; a verb of a resource's name may be restricted to some names.
func allow(group, verbs, resources string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: strings.Fields(resources),
		Verbs: strings.Fields(verbs), ResourceNames: names}
}

// runnerRules are what the runner and its stand-ins do in the namespace of their Pods.
var runnerRules = []rbacv1.PolicyRule{
	allow("batch", "create get list delete", "jobs"),
	allow("batch", "update", "jobs/finalizers"), // to own what blocks their deletion
	allow("", "get list", "pods"),
	allow("", "get create", "pods/portforward"), // by WebSocket, and by SPDY
	allow("", "list", "events"),
	allow("", "get", "serviceaccounts"),
}

// written are the kinds that every load, or one with a profile, writes, and how beside creating and deleting them.
var plain, profiled = map[string]string{
	shape.KindPod: "get", shape.KindNode: "get", shape.KindLease: "get patch",
}, map[string]string{}

// loadRules are what a generator does in the cluster.
func loadRules(load *plan.Load) []rbacv1.PolicyRule {
	rules := []rbacv1.PolicyRule{
		allow("", "create get delete", "namespaces"),
		allow("", "create", "serviceaccounts"),
		allow("", "get", "serviceaccounts", "default"), // whether the cluster has controllers
	}
	return rules
}

// watchRules are what a watcher of the resources, by group, does.
func watchRules(groups map[string][]string, verbs string) (rules []rbacv1.PolicyRule) {
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		rules = append(rules, allow(g, verbs, strings.Join(slices.Sorted(slices.Values(groups[g])), " ")))
	}
	return rules
}

// RBAC is all that a run of a load in the namespace needs in a cluster, as YAML for kubectl apply: the namespace, and
// for the runner, its generators and its watchers of these kinds a ServiceAccount each with the least of rights.
func RBAC(namespace string, load plan.Load, watched []string) (string, error) {
	groups := map[string][]string{}
	known := append(apisim.BuiltIn(), apisim.Resource{Group: shape.WidgetGroup, Name: "widgets", Kind: shape.KindWidget})
	for _, kind := range watched {
		i := slices.IndexFunc(known, func(r apisim.Resource) bool { return r.Kind == kind })
		if i < 0 {
			return "", badinput.New("use a built-in kind such as Pod, Node or Deployment", "no rights are known for kind %q",
				kind)
		}
		groups[known[i].Group] = append(groups[known[i].Group], known[i].Name)
	}
	runner := append(watchRules(groups, "get list"), allow("", "list", "namespaces"), allow("", "get list", "nodes"))
	lease := []rbacv1.PolicyRule{allow("coordination.k8s.io", "create get update", "leases")}
	objects := []any{&corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{
			"pod-security.kubernetes.io/enforce": "restricted", labelPartOf: "watchbench"}}}}
	for _, a := range []struct {
		name          string
		inside, about []rbacv1.PolicyRule
	}{
		{accountRunner, runnerRules, runner},
		{AccountLoad, nil, loadRules(&load)},
		{AccountWatcher, lease, watchRules(groups, "list watch")},
	} {
		objects = append(objects, account(namespace, a.name)...)
		objects = append(objects, grant("ClusterRole", a.name, namespace, "", a.about)...)
		if len(a.inside) > 0 {
			objects = append(objects, grant("Role", a.name, namespace, namespace, a.inside)...)
		}
	}
	var out bytes.Buffer
	for _, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			return "", fmt.Errorf("print the roles: %w", err)
		}
		fmt.Fprintf(&out, "---\n%s", text)
	}
	return out.String(), nil
}

func account(namespace, name string) []any {
	return []any{&corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}}
}

// grant makes a role and its binding; in is empty for a ClusterRole.
func grant(kind, name, account, in string, rules []rbacv1.PolicyRule) []any {
	meta := metav1.ObjectMeta{Name: name, Namespace: in}
	of := func(kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: rbacGroup + "/v1", Kind: kind} }
	return []any{
		&rbacv1.Role{TypeMeta: of(kind), ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{TypeMeta: of(kind + "Binding"), ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacGroup, Kind: kind, Name: name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: name, Namespace: account}}},
	}
}
