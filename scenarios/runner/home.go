package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/pod"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// InCluster has the parties of a run be Pods of the cluster.
type InCluster struct {
	Namespace string // of the Pods
	Registry  string // of the images; empty: the nodes have them
	Tag       string
	// CPU and Memory are limits and requests of each Pod; empty: none.
	CPU, Memory string
}

// Image is the name of a program's image.
func (o *InCluster) Image(program string) string {
	name := program + ":" + o.Tag
	if o.Registry != "" {
		name = o.Registry + "/" + name
	}
	return name
}

// Images are those of all programs.
func (o *InCluster) Images() (all []string) {
	for _, program := range party.Images() {
		all = append(all, o.Image(program))
	}
	return all
}

// environment is what is known before a Pod runs.
func (o *InCluster) environment() *result.Pods {
	if o == nil {
		return nil
	}
	p := &result.Pods{Namespace: o.Namespace, Registry: o.Registry, Tag: o.Tag}
	for name, limit := range map[string]string{"cpu": o.CPU, "memory": o.Memory} {
		if limit == "" {
			continue
		}
		if p.Limits == nil {
			p.Limits = map[string]string{}
		}
		p.Limits[name] = limit
	}
	return p
}

// podsOf starts the parties of a cell; nil: on this machine.
func (r *Runner) podsOf(cell string) *party.Pods {
	if r.home == nil {
		return nil
	}
	p := *r.home.pods
	p.Run, p.Cell = r.cellRunID(cell), history.CellDir(r.dir, cell)
	return &p
}

// ranOn notes the node and the image of a Pod, and how many CPUs the watcher has at most.
func (r *Runner) ranOn(ctx context.Context, c *cell, p *history.Pod) error {
	env := r.environment().Pods
	if env.Images == nil {
		env.Images = map[string]string{}
	}
	_, digest, named := strings.Cut(p.ImageID, "@")
	if !named {
		digest = p.ImageID
	}
	env.Images[p.Image] = digest
	i := slices.IndexFunc(env.Nodes, func(n result.Node) bool { return n.Name == p.Node })
	if i < 0 {
		n, err := nodeOf(ctx, c.api, p.Node)
		if err != nil {
			return err
		}
		i, env.Nodes = len(env.Nodes), append(env.Nodes, n)
	}
	if p.Party == history.PartyWatcher && env.Nodes[i].CPUs > 0 {
		c.record.CPUs = env.Nodes[i].CPUs
	}
	return nil
}

// nodeOf describes a node: by its name only where the run may not read nodes.
func nodeOf(ctx context.Context, api *party.APIServer, name string) (n result.Node, err error) {
	n.Name = name
	data, err := api.Send(ctx, http.MethodGet, "/api/v1/nodes/"+url.PathEscape(name), nil)
	if party.Forbidden(err) {
		return n, nil
	}
	var of struct {
		Status struct {
			Capacity map[string]resource.Quantity `json:"capacity"`
			NodeInfo struct {
				KubeletVersion, KernelVersion string
			} `json:"nodeInfo"`
		} `json:"status"`
	}
	if err == nil {
		err = json.Unmarshal(data, &of)
	}
	cpus, memory := of.Status.Capacity["cpu"], of.Status.Capacity["memory"]
	n.CPUs, n.MemoryMiB = int(cpus.Value()), memory.Value()>>20
	n.Kubelet, n.Kernel = of.Status.NodeInfo.KubeletVersion, of.Status.NodeInfo.KernelVersion
	return n, err
}

// home is where the parties of a run in a cluster live.
type home struct {
	pods   *party.Pods // of each cell, but for its name and folder
	anchor *pod.Anchored
}

// Of a run, how many times longer than expected its Pods may live at most.
const (
	boundFactor = 4
	boundSlack  = time.Hour
)

// moveIn sees that Pods can run, and makes the anchor that will own them. A cluster that is the run's own gets the
// rights first.
func (r *Runner) moveIn(ctx context.Context) error {
	o := r.opts.InCluster
	if o == nil {
		return nil
	}
	cfg, err := r.cluster.RESTConfig()
	if err == nil && r.cluster.Ends() {
		err = r.grant(ctx)
	}
	if err != nil {
		return err
	}
	c := pod.AnchorConfig{REST: cfg, Namespace: o.Namespace, Name: "watchbench-" + r.short, Image: o.Image("watchbench"),
		CPU: o.CPU, Memory: o.Memory, Bound: boundFactor*Expected(r.Steps()) + boundSlack}
	pods := &party.Pods{Bench: r.opts.Binaries.Bench, Image: o.Image, All: pod.Spec{
		Kubeconfig: r.cluster.Kubeconfig, Namespace: o.Namespace, Owner: c.Name, CPU: o.CPU, Memory: o.Memory}}
	r.progress.Line("trying whether the cluster runs the Pods in namespace " + o.Namespace)
	if err := pod.Preflight(ctx, cfg, o.Namespace, pods.Trials(r.dir)...); err != nil {
		return err
	}
	anchor, err := pod.Anchor(ctx, c)
	if err == nil {
		r.home = &home{anchor: anchor, pods: pods}
	}
	return err
}

// RBAC prints what the runs of scenarios need in a cluster, for kubectl apply.
func (o *InCluster) RBAC(files ...*spec.File) (text string, err error) {
	var kinds []string
	var loads []plan.Load
	for _, f := range files {
		for _, c := range f.Cells() {
			kinds, loads = append(kinds, c.Scenario.Kinds()...), append(loads, c.Scenario.Load.Load)
		}
	}
	slices.Sort(kinds)
	kinds = slices.Compact(append(kinds, "Namespace"))
	for _, l := range loads { // each includes what the smaller ones have
		one, e := pod.RBAC(o.Namespace, l, kinds)
		if err = errors.Join(err, e); len(one) > len(text) {
			text = one
		}
	}
	return text, err
}

// made are the collections of what RBAC has; %s is the namespace.
var made = map[string]string{
	"Namespace": "/api/v1/namespaces", "ServiceAccount": "/api/v1/namespaces/%s/serviceaccounts",
	"ClusterRole":        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
	"ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
	"Role":               "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/roles",
	"RoleBinding":        "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/rolebindings",
}

// grant makes namespace, accounts and rights in a cluster that goes away with the run.
func (r *Runner) grant(ctx context.Context) error {
	text, err := r.opts.InCluster.RBAC(r.opts.Scenario)
	if err != nil {
		return err
	}
	api, err := party.NewAPIServer(r.cluster.Kubeconfig)
	if err != nil {
		return err
	}
	defer api.Close()
	for _, one := range strings.Split(strings.TrimPrefix(text, "---\n"), "\n---\n") {
		var o struct{ Kind string }
		data, err := yaml.YAMLToJSON([]byte(one))
		if err == nil {
			err = json.Unmarshal(data, &o)
		}
		if err == nil {
			path := strings.ReplaceAll(made[o.Kind], "%s", r.opts.InCluster.Namespace)
			_, err = api.Send(ctx, http.MethodPost, path, json.RawMessage(data))
		}
		if err != nil {
			return fmt.Errorf("make the run's %s: %w", o.Kind, err)
		}
	}
	return nil
}

// moveOut removes what the run has made in the cluster.
func (r *Runner) moveOut(ctx context.Context) error {
	if r.home == nil {
		return nil
	}
	return r.home.anchor.Close(ctx)
}
