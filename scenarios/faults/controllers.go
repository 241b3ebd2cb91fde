package faults

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/internal/cluster/owned"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// What is asked of the controllers of a live cluster, about one Deployment with a Service.
const (
	addNodes    = "add-nodes"    // nodes whose kubelet kwok plays
	loseNodes   = "lose-nodes"   // their kubelets fall silent, until their pods have been evicted
	removeNodes = "remove-nodes" // the lost nodes are taken out of the cluster
	deployApp   = "deploy"       // a Deployment of so many replicas; waits for nothing
	scaleApp    = "scale"        // its scale subresource, as an autoscaler writes it
	rollApp     = "roll"         // a new template
	crashApp    = "crash"        // pods of it fail and begin again, for a while
	settleApp   = "settle"       // until the Deployment is as it was asked to be, and no more
	restartAPI  = "restart-apiserver"
)

const (
	// settleLimit bounds the wait for what controllers do.
	settleLimit = 5 * time.Minute
	settlePoll  = 200 * time.Millisecond
	maxNodes    = 500
	appName     = "web"
)

// appYAML is the Deployment, with what such things usually say, and its Service.
//
//go:embed application.yml
var appYAML []byte

// app holds the objects that the events of one cell made.
type app struct {
	client kubernetes.Interface
	nodes  []string // that have kubelets, the oldest first
	lost   []string
	made   int // nodes so far
	at     string
	there  bool // the namespace
	rolled int
}

func controllers() Family {
	a := &app{}
	event := func(name string, takes []string, validate func(*spec.Timeline, spec.Event) error,
		inject func(context.Context, Cell, spec.Event) (Done, error)) Failpoint {
		return Failpoint{Name: name, Takes: takes, Available: func(t *spec.Timeline, e spec.Event) error {
			if err := t.Need(t.Cluster.Controllers, e.What+" without controllers", "set cluster.controllers: true"); err != nil {
				return err
			}
			if validate == nil {
				return nil
			}
			return validate(t, e)
		}, Inject: func(ctx context.Context, c Cell, e spec.Event) (Done, error) {
			if err := a.begin(c); err != nil {
				return Done{}, err
			}
			return inject(ctx, c, e)
		}}
	}
	count := []string{"count"}
	// The first of its kind must not come before the first of the other.
	follows := func(t *spec.Timeline, e spec.Event, other string) bool {
		first := func(what string) int {
			return slices.IndexFunc(t.Events, func(e spec.Event) bool { return e.What == what })
		}
		return first(other) >= 0 && first(other) < first(e.What)
	}
	deployed := func(t *spec.Timeline, e spec.Event) error {
		return t.Need(follows(t, e, deployApp), e.What+" without a Deployment", "let a "+deployApp+" come before")
	}
	return Family{Remove: a.remove, Failpoints: []Failpoint{
		event(addNodes, count, func(t *spec.Timeline, e spec.Event) error {
			if e.Number() > maxNodes {
				return t.Bad("count", fmt.Sprintf("add at most %d", maxNodes), "%d nodes", e.Number())
			}
			return nil
		}, a.addNodes),
		event(loseNodes, count, deployed, a.loseNodes),
		event(removeNodes, nil, func(t *spec.Timeline, e spec.Event) error {
			return t.Need(follows(t, e, loseNodes), e.What+" without lost nodes", "let "+loseNodes+" come before")
		}, a.removeNodes),
		event(deployApp, count, nil, a.deploy),
		event(scaleApp, count, deployed, a.scale),
		event(rollApp, nil, deployed, a.roll),
		event(crashApp, []string{"count", "for"}, deployed, a.crash),
		event(settleApp, nil, deployed, a.settle),
		event(restartAPI, nil, nil, func(ctx context.Context, c Cell, _ spec.Event) (Done, error) {
			return Done{Keys: 1}, c.RestartAPIServer(ctx)
		}),
	}}
}

func (a *app) begin(c Cell) (err error) {
	if a.client == nil {
		a.at = "watchbench-" + c.Run() + "-app"
		a.client, err = kubernetes.NewForConfig(c.API().REST)
	}
	return err
}

// keep returns the labels of a run's objects.
func keep(c Cell) map[string]string { return map[string]string{party.RunLabel: c.Run()} }

func (a *app) addNodes(ctx context.Context, c Cell, e spec.Event) (Done, error) {
	return repeat(e, func() error {
		a.made++
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("watchbench-%s-kwok-%d", c.Run(), a.made),
			Labels: keep(c)}}
		n.Labels[cluster.KwokLabel], n.Labels[corev1.LabelHostname] = "true", n.Name
		_, err := a.client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{})
		a.nodes = append(a.nodes, n.Name)
		return err
	})
}

// loseNodes has nodes lose their kubelets, and waits until every pod on them is evicted.
func (a *app) loseNodes(ctx context.Context, _ Cell, e spec.Event) (Done, error) {
	n := e.Number()
	if n > len(a.nodes) {
		return Done{}, fmt.Errorf("lose %d nodes: there are %d", n, len(a.nodes))
	}
	lost, evicted := a.nodes[:n], 0
	for _, name := range lost {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"false"}}}`, cluster.KwokLabel)
		if _, err := a.client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch,
			metav1.PatchOptions{}); err != nil {
			return Done{}, fmt.Errorf("lose the node %s: %w", name, err)
		}
		pods, err := a.client.CoreV1().Pods(a.at).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + name})
		if err != nil {
			return Done{}, err
		}
		evicted += len(pods.Items)
	}
	if evicted == 0 {
		return Done{}, errors.New("no pod is on the lost nodes: nothing would be evicted")
	}
	a.nodes, a.lost = a.nodes[n:], append(a.lost, lost...)
	return Done{Keys: int64(n)}, until(ctx, "the eviction of pods from lost nodes",
		func(ctx context.Context) (string, error) {
			for _, name := range lost {
				node, err := a.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
				if err != nil {
					return "", err
				}
				for _, condition := range node.Status.Conditions {
					if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
						return name + " is ready", nil
					}
				}
				pods, err := a.client.CoreV1().Pods(a.at).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + name})
				if err != nil {
					return "", err
				}
				for i := range pods.Items {
					if pods.Items[i].DeletionTimestamp == nil {
						return pods.Items[i].Name + " is still to run on " + name, nil
					}
				}
			}
			return "", nil
		})
}

func (a *app) removeNodes(ctx context.Context, _ Cell, _ spec.Event) (Done, error) {
	n := len(a.lost)
	return Done{Keys: int64(n)}, a.deleteNodes(ctx, &a.lost)
}

func (a *app) deleteNodes(ctx context.Context, names *[]string) error {
	for len(*names) > 0 {
		if err := a.client.CoreV1().Nodes().Delete(ctx, (*names)[0], metav1.DeleteOptions{}); err != nil &&
			!apierrors.IsNotFound(err) {
			return fmt.Errorf("remove the node %s: %w", (*names)[0], err)
		}
		*names = (*names)[1:]
	}
	return nil
}

func (a *app) deploy(ctx context.Context, c Cell, e spec.Event) (Done, error) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.at, Labels: keep(c)}}
	if _, err := a.client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return Done{}, err
	}
	a.there = true
	d, service, err := application(c.Run(), int32(e.Number()))
	if err != nil {
		return Done{}, err
	}
	if _, err := a.client.CoreV1().Services(a.at).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return Done{}, err
	}
	_, err = a.client.AppsV1().Deployments(a.at).Create(ctx, d, metav1.CreateOptions{})
	return Done{Keys: int64(e.Number())}, err
}

func (a *app) scale(ctx context.Context, _ Cell, e spec.Event) (Done, error) {
	s, err := a.client.AppsV1().Deployments(a.at).GetScale(ctx, appName, metav1.GetOptions{})
	if err != nil {
		return Done{}, err
	}
	moved := max(s.Spec.Replicas-int32(e.Number()), int32(e.Number())-s.Spec.Replicas)
	s.Spec.Replicas = int32(e.Number())
	_, err = a.client.AppsV1().Deployments(a.at).UpdateScale(ctx, appName, s, metav1.UpdateOptions{})
	return Done{Keys: int64(moved)}, err
}

func (a *app) roll(ctx context.Context, _ Cell, _ spec.Event) (Done, error) {
	a.rolled++
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"watchbench.dev/rollout":"%d"}}}}}`,
		a.rolled)
	d, err := a.client.AppsV1().Deployments(a.at).Patch(ctx, appName, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{})
	if err != nil {
		return Done{}, err
	}
	return Done{Keys: int64(*d.Spec.Replicas)}, nil
}

// crash has some pods fail and begin again for as long as the event says, and until each has; they recover.
func (a *app) crash(ctx context.Context, _ Cell, e spec.Event) (Done, error) {
	pods, err := a.client.CoreV1().Pods(a.at).List(ctx, metav1.ListOptions{Limit: int64(e.Number())})
	if err != nil {
		return Done{}, err
	}
	if n := len(pods.Items); n < e.Number() {
		return Done{}, fmt.Errorf("%d pods are to crash, %d are there", e.Number(), n)
	}
	mark := func(value string) error {
		for i := range pods.Items {
			patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, cluster.CrashLabel, value)
			_, err := a.client.CoreV1().Pods(a.at).Patch(ctx, pods.Items[i].Name, types.MergePatchType, patch,
				metav1.PatchOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		return nil
	}
	if err := mark("true"); err != nil {
		return Done{}, err
	}
	if err := lifecycle.Pause(ctx, e.For.Std()); err != nil {
		return Done{}, err
	}
	if err := until(ctx, "the crashes", a.uncrashed); err != nil {
		return Done{}, err
	}
	return Done{Keys: int64(len(pods.Items))}, mark("false")
}

// uncrashed names a pod that is to crash and has never ended.
func (a *app) uncrashed(ctx context.Context) (string, error) {
	pods, err := a.client.CoreV1().Pods(a.at).List(ctx, metav1.ListOptions{LabelSelector: cluster.CrashLabel + "=true"})
	if err != nil {
		return "", err
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if !slices.ContainsFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
			return s.RestartCount > 0 || s.State.Terminated != nil
		}) {
			return p.Name + " has not crashed", nil
		}
	}
	return "", nil
}

// settle waits until the Deployment has the pods that it is to have, all available, and none that it is not to have.
func (a *app) settle(ctx context.Context, _ Cell, _ spec.Event) (done Done, err error) {
	return done, until(ctx, "the Deployment", func(ctx context.Context) (string, error) {
		d, err := a.client.AppsV1().Deployments(a.at).Get(ctx, appName, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		want, s := *d.Spec.Replicas, d.Status
		done.Keys = int64(want)
		if s.ObservedGeneration < d.Generation || s.Replicas != want || s.UpdatedReplicas != want ||
			s.AvailableReplicas != want {
			return fmt.Sprintf("of %d replicas %d are there, %d new, %d available", want, s.Replicas, s.UpdatedReplicas,
				s.AvailableReplicas), nil
		}
		pods, err := a.client.CoreV1().Pods(a.at).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return "", err
		}
		if len(pods.Items) != int(want) {
			return fmt.Sprintf("%d pods are there, %d are to be", len(pods.Items), want), nil
		}
		return "", nil
	})
}

// until waits until nothing is lacking; an error of the apiserver, which may be on its way up, is waited out.
func until(ctx context.Context, what string, lacks func(context.Context) (string, error)) error {
	last := ""
	err := wait.PollUntilContextTimeout(ctx, settlePoll, settleLimit, true, func(ctx context.Context) (bool, error) {
		text, err := lacks(ctx)
		if err != nil && ctx.Err() != nil {
			return false, nil // the last answer says more than that the time is over
		}
		if err != nil {
			text = err.Error()
		}
		last = text
		return text == "", nil
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fmt.Errorf("%s: not done after %s: %s", what, settleLimit, last)
}

// remove deletes what the events have made.
func (a *app) remove(ctx context.Context, c Cell) error {
	if a.client == nil {
		return nil
	}
	var errs []error
	if a.there {
		errs = append(errs, owned.DeleteNamespace(ctx, c.API().REST, a.at, c.Run()))
	}
	return errors.Join(append(errs, a.deleteNodes(ctx, &a.lost), a.deleteNodes(ctx, &a.nodes))...)
}

// application is the Deployment with its Service.
func application(run string, replicas int32) (*appsv1.Deployment, *corev1.Service, error) {
	var d appsv1.Deployment
	var service corev1.Service
	first, second, _ := bytes.Cut(bytes.ReplaceAll(appYAML, []byte("$RUN"), []byte(run)), []byte("---\n"))
	err := errors.Join(yaml.UnmarshalStrict(first, &d), yaml.UnmarshalStrict(second, &service))
	d.Spec.Replicas = &replicas
	return &d, &service, err
}
