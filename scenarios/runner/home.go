package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	Limits    map[string]string // and requests of each Pod, by resource
}

// Image is the name of a program's image.
func (o *InCluster) Image(program string) string {
	name := program + ":" + o.Tag
	if o.Registry != "" {
		name = o.Registry + "/" + name
	}
	return name
}

// Images names the images of all programs.
func (o *InCluster) Images() (all []string) {
	for _, program := range party.Images() {
		all = append(all, o.Image(program))
	}
	return all
}

// environment has what is known before a Pod runs.
func (o *InCluster) environment() *result.Pods {
	if o == nil {
		return nil
	}
	return &result.Pods{Namespace: o.Namespace, Registry: o.Registry, Tag: o.Tag, Limits: o.Limits}
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
		n, err := r.home.nodeOf(ctx, p.Node)
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
func (h *home) nodeOf(ctx context.Context, name string) (n result.Node, err error) {
	var node corev1.Node
	err = h.client.Get(ctx, client.ObjectKey{Name: name}, &node)
	if n.Name = name; err == nil {
		of, has := &node.Status.NodeInfo, node.Status.Capacity
		n.CPUs, n.MemoryMiB = int(has.Cpu().Value()), has.Memory().Value()>>20
		n.Kubelet, n.Kernel = of.KubeletVersion, of.KernelVersion
	} else if !apierrors.IsForbidden(err) {
		return n, fmt.Errorf("read a node: %w", err)
	}
	return n, nil
}

// home is where the parties of a run in a cluster live.
type home struct {
	client client.Client
	clean  func(context.Context) error // removes what the run has made
	pods   *party.Pods                 // of each cell, but for its name and folder
}

// moveIn sees that Pods can run. A cluster that is the run's own gets the
// rights first.
func (r *Runner) moveIn(ctx context.Context) error {
	o := r.opts.InCluster
	if o == nil {
		return nil
	}
	cfg, err := r.cluster.RESTConfig()
	if err != nil {
		return err
	}
	api, err := client.New(cfg, client.Options{})
	if err == nil && r.cluster.Ends() {
		err = r.grant(ctx, api)
	}
	if err != nil {
		return fmt.Errorf("prepare the cluster: %w", err)
	}
	run := "watchbench-" + r.short
	pods := &party.Pods{Bench: r.opts.Binaries.Bench, Image: o.Image, Run: run, Cell: r.dir, All: pod.Spec{
		Kubeconfig: r.cluster.Kubeconfig, Namespace: o.Namespace, Owner: run, Limits: o.Limits}}
	r.progress.Line("trying whether the cluster runs the Pods in namespace " + o.Namespace)
	at, err := pod.NewPlace(cfg, o.Namespace)
	if err == nil {
		err = at.Preflight(ctx, pods.Trials()...)
	}
	if err != nil {
		return err
	}
	r.home = &home{client: api, pods: pods, clean: func(ctx context.Context) error { return at.Clean(ctx, run) }}
	return nil
}

// RBAC is what the runs of scenarios need in a cluster.
func (o *InCluster) RBAC(files ...*spec.File) (pod.Rights, error) {
	kinds := []string{"Namespace"} // no list keeps it out
	var loads []plan.Load
	for _, f := range files {
		for _, c := range f.Cells() {
			kinds, loads = append(kinds, c.Scenario.Kinds()...), append(loads, c.Scenario.Load.Load)
		}
	}
	return pod.RBAC(o.Namespace, loads, kinds)
}

// grant makes namespace, accounts and rights in a cluster that goes away with the run.
func (r *Runner) grant(ctx context.Context, c client.Client) error {
	rights, err := r.opts.InCluster.RBAC(r.opts.Scenario)
	for _, o := range rights {
		if err == nil {
			err = c.Create(ctx, o)
		}
	}
	if err != nil {
		return fmt.Errorf("grant the run's rights: %w", err)
	}
	return nil
}

// moveOut removes what the run has made in the cluster.
func (r *Runner) moveOut(ctx context.Context) error {
	if r.home == nil {
		return nil
	}
	return r.home.clean(ctx)
}
