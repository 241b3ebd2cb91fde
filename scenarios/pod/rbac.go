package pod

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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

// allow makes a rule; a verb of a resource's name may be restricted to some names.
func allow(group, verbs, resources string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: strings.Fields(resources),
		Verbs: strings.Fields(verbs), ResourceNames: names}
}

// runnerRules are what the runner and its stand-ins do in the namespace of their Pods.
var runnerRules = []rbacv1.PolicyRule{
	allow("batch", "create get list patch delete", "jobs"),
	allow("", "get list", "pods"),
	allow("", "get create", "pods/portforward"), // by WebSocket, and by SPDY
	allow("", "list", "events"),
}

// loadRules are what a generator does in the cluster. What is left of a namespace is the cluster's to delete, but for
// pods, which wait for kubelets that their nodes do not have.
func loadRules(load *plan.Load) []rbacv1.PolicyRule {
	rules := []rbacv1.PolicyRule{
		allow("", "create get delete", "namespaces"),
		allow("", "create", "serviceaccounts"),
		allow("", "get", "serviceaccounts", "default"), // whether the cluster has controllers
		allow("", "create get delete", "nodes"),
		allow("", "create get delete deletecollection", "pods"),
		allow("", "create", "pods/binding"),
		allow("", "update", "pods/status"),
	}
	if load.Profile == "" {
		rules = append(rules, allow("", "patch", "nodes/status"))
		if load.Bystander != nil {
			rules = append(rules, allow("", "create get update", "configmaps"))
		}
		return rules
	}
	rules = append(rules,
		allow("", "update", "nodes/status"),
		allow("", "list patch", "pods"), // finalizers of Jobs
		allow("", "create get update", "configmaps events"),
		allow("apps", "create get patch", "deployments replicasets"),
		allow("apps", "create get", "daemonsets"),
		allow("apps", "update", "deployments/status replicasets/status daemonsets/status"),
		allow("batch", "create get delete", "jobs"),
		allow("batch", "update", "jobs/status"),
		allow("discovery.k8s.io", "create get update", "endpointslices"))
	if load.HasWidgets() {
		rules = append(rules, allow("apiextensions.k8s.io", "create get delete", "customresourcedefinitions"),
			allow(shape.WidgetGroup, "create get list patch", "widgets"))
	}
	return rules
}

// watchRules let a watcher read the resources.
func watchRules(resources []apisim.Resource, verbs string) (rules []rbacv1.PolicyRule) {
	for _, r := range resources {
		rules = append(rules, allow(r.Group, verbs, r.Name))
	}
	return rules
}

// merged has one rule for each resource and its names, of all that the rules allow.
func merged(rules []rbacv1.PolicyRule) (all []rbacv1.PolicyRule) {
	verbs := map[[3]string][]string{} // by group, resource, names
	for _, r := range rules {
		for _, resource := range r.Resources {
			of := [3]string{r.APIGroups[0], resource, strings.Join(r.ResourceNames, " ")}
			verbs[of] = append(verbs[of], r.Verbs...)
		}
	}
	inOrder := func(a, b [3]string) int { return slices.Compare(a[:], b[:]) }
	for _, of := range slices.SortedFunc(maps.Keys(verbs), inOrder) {
		may := slices.Compact(slices.Sorted(slices.Values(verbs[of])))
		all = append(all, allow(of[0], strings.Join(may, " "), of[1], strings.Fields(of[2])...))
	}
	return all
}

// Rights are objects of a cluster.
type Rights []*unstructured.Unstructured

// RBAC is all that runs of some loads in the namespace need in a cluster: the namespace, and for the runner, its
// generators and its watchers of these kinds a ServiceAccount each with the least of rights.
func RBAC(namespace string, loads []plan.Load, watched []string) (objects Rights, err error) {
	var resources []apisim.Resource
	known := append(apisim.BuiltIn(), apisim.Resource{Group: shape.WidgetGroup, Name: "widgets", Kind: shape.KindWidget})
	for _, kind := range watched {
		i := slices.IndexFunc(known, func(r apisim.Resource) bool { return r.Kind == kind })
		if i < 0 {
			return nil, badinput.New("use a built-in kind such as Pod, Node or Deployment", "no rights are known for kind %q",
				kind)
		}
		resources = append(resources, known[i])
	}
	var load []rbacv1.PolicyRule
	for i := range loads {
		load = append(load, loadRules(&loads[i])...)
	}
	add := func(o any) {
		fields, e := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		objects, err = append(objects, &unstructured.Unstructured{Object: fields}), errors.Join(err, e)
	}
	add(&corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{
			"pod-security.kubernetes.io/enforce": "restricted", labelPartOf: "watchbench"}}})
	for _, a := range []struct {
		name, in      string // of its Role, if it has one
		inside, about []rbacv1.PolicyRule
	}{
		{accountRunner, namespace, runnerRules, append(watchRules(resources, "get list watch"),
			allow("", "list", "namespaces"), allow("", "get", "nodes"))},
		{AccountLoad, corev1.NamespaceNodeLease, []rbacv1.PolicyRule{ // which holds only those of nodes
			allow("coordination.k8s.io", "create get patch delete", "leases")}, load},
		{AccountWatcher, "", nil, watchRules(resources, "list watch")},
	} {
		add(&corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
			ObjectMeta: metav1.ObjectMeta{Name: a.name, Namespace: namespace}})
		grant := func(kind, in string, rules []rbacv1.PolicyRule) {
			typed := metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
			meta := metav1.ObjectMeta{Name: a.name, Namespace: in}
			add(&rbacv1.Role{TypeMeta: typed, ObjectMeta: meta, Rules: merged(rules)})
			typed.Kind += "Binding"
			add(&rbacv1.RoleBinding{TypeMeta: typed, ObjectMeta: meta,
				RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: a.name},
				Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: a.name, Namespace: namespace}}})
		}
		if grant("ClusterRole", "", a.about); a.in != "" {
			grant("Role", a.in, a.inside)
		}
	}
	return objects, err
}

// Print writes the objects as YAML, for kubectl apply.
func (r Rights) Print(to io.Writer) error {
	for _, o := range r {
		text, err := yaml.Marshal(o.Object)
		if err == nil {
			_, err = fmt.Fprintf(to, "---\n%s", text)
		}
		if err != nil {
			return fmt.Errorf("print the roles: %w", err)
		}
	}
	return nil
}
