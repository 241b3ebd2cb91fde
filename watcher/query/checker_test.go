package query_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/watcher/view"
)

// watching records what a client sees until the last object, through connections that end
// after a random number of events.
func watching(ctx context.Context, c *rest.Config, ns string, r *rand.Rand, o metav1.ListOptions, cut int, final *atomic.Uint64) ([]epoch, error) {
	client := dynamic.NewForConfigOrDie(c).Resource(configMaps).Namespace(ns)
	var all []epoch
	for {
		l, err := client.List(ctx, metav1.ListOptions{LabelSelector: o.LabelSelector, ResourceVersion: "0"})
		if err != nil {
			return nil, err
		}
		e := epoch{at: number(l.GetResourceVersion()), listed: map[string]uint64{}}
		for _, i := range l.Items {
			e.listed[i.GetName()] = number(i.GetResourceVersion())
		}
		done, err := e.follow(ctx, client, r, o, cut, final)
		all = append(all, e)
		if done || err != nil {
			return all, err
		}
	}
}

func number(text string) uint64 {
	v, _ := strconv.ParseUint(text, 10, 64)
	return v
}

// follow watches from the list on. It returns false without an error where the version has expired.
func (e *epoch) follow(ctx context.Context, client dynamic.ResourceInterface, r *rand.Rand, o metav1.ListOptions, cut int, final *atomic.Uint64) (done bool, err error) {
	version := e.at
	for {
		if end := final.Load(); end > 0 && version >= end {
			return true, nil
		}
		o.ResourceVersion, o.AllowWatchBookmarks = strconv.FormatUint(version, 10), true
		o.TimeoutSeconds = new(int64(1 + r.IntN(5)))
		w, err := client.Watch(ctx, o)
		switch {
		case apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err):
			time.Sleep(50 * time.Millisecond)
			continue
		case err != nil:
			return false, err
		}
		left := 1 + r.IntN(cut)
		for got := range w.ResultChan() {
			if got.Type == watch.Error {
				w.Stop()
				if err := apierrors.FromObject(got.Object); !apierrors.IsResourceExpired(err) {
					return false, err
				}
				return false, nil
			}
			u := got.Object.(*unstructured.Unstructured)
			one := seenEvent{got.Type, u.GetName(), number(u.GetResourceVersion()), u.GetLabels()["color"]}
			e.events, version = append(e.events, one), one.version
			if one.ends() {
				w.Stop()
				return true, nil
			}
			if left--; left == 0 {
				break
			}
		}
		w.Stop()
	}
}

// leastChanges are needed for a history to say anything.
const leastChanges = 200

// churn writes objects for a while, and until there are leastChanges, each writer with a seed of its own.
func churn(ctx context.Context, c *rest.Config, ns string, seed uint64, writers int, until time.Time) error {
	client := kubernetes.NewForConfigOrDie(c).CoreV1().ConfigMaps(ns)
	var all sync.WaitGroup
	failed := make(chan error, writers)
	var changed atomic.Int64
	for n := range writers {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(n)))
			for time.Now().Before(until) || changed.Load() < leastChanges {
				name := fmt.Sprintf("o%d", r.IntN(12))
				cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"color": []string{"red", "blue"}[r.IntN(2)]}}, Data: map[string]string{"n": strconv.Itoa(r.Int())}}
				var err error
				switch r.IntN(4) {
				case 0:
					err = client.Delete(ctx, name, metav1.DeleteOptions{})
				case 1:
					_, err = client.Create(ctx, cm, metav1.CreateOptions{})
				default:
					_, err = client.Update(ctx, cm, metav1.UpdateOptions{})
				}
				switch {
				case err == nil:
					changed.Add(1)
				case !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err):
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(failed)
	return <-failed
}

// TestWatchIsFaithful: under churn, whatever the connections on both sides do, each client's history is the cluster's
// own, as its selector sees it: ordered, unique, without gaps, resumable and with true bookmarks.
func TestWatchIsFaithful(t *testing.T) {
	env := clustertest.Start(t)
	for name, window := range map[string]view.Config{"": {}, "a small window": {Window: 20}} {
		t.Run(name, func(t *testing.T) {
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			faithful(t, env.Config, window, seed)
		})
	}
}

func faithful(t *testing.T, upstream *rest.Config, window view.Config, seed uint64) {
	ns := clustertest.Namespace(t, upstream)
	wires := &unsteady{conns: map[net.Conn]bool{}}
	served, _ := live(t, wires.config(upstream), window)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	// The truth: one watch of the apiserver itself from a list on, which is not cut.
	client := dynamic.NewForConfigOrDie(upstream).Resource(configMaps).Namespace(ns)
	list := must(client.List(ctx, metav1.ListOptions{}))
	before := map[string]seenEvent{}
	for _, i := range list.Items {
		before[i.GetName()] = seenEvent{watch.Added, i.GetName(), number(i.GetResourceVersion()), i.GetLabels()["color"]}
	}
	w, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion(), TimeoutSeconds: new(int64(600))})
	if err != nil {
		t.Fatal(err)
	}
	truth := make(chan []seenEvent, 1)
	go func() {
		var all []seenEvent
		for e := range w.ResultChan() {
			u, ok := e.Object.(*unstructured.Unstructured)
			if !ok {
				break
			}
			one := seenEvent{e.Type, u.GetName(), number(u.GetResourceVersion()), u.GetLabels()["color"]}
			if all = append(all, one); one.ends() {
				break
			}
		}
		w.Stop()
		truth <- all
	}()

	type result struct {
		name    string
		epochs  []epoch
		selects func(string) bool
		err     error
	}
	results := make(chan result)
	var final atomic.Uint64
	clients := 0
	for _, selector := range []string{"", "color=red", "color!=red", "color in (red,blue)"} {
		parsed := must(labels.Parse(selector))
		selects := func(color string) bool {
			return parsed.Matches(labels.Set{"color": color})
		}
		for n := range 3 {
			clients++
			r := rand.New(rand.NewPCG(seed, uint64(100+clients*10+n)))
			go func() {
				epochs, err := watching(ctx, served, ns, r, metav1.ListOptions{LabelSelector: selector}, []int{3, 40, 1000}[n], &final)
				results <- result{fmt.Sprintf("%q, client %d", selector, n), epochs, selects, err}
			}()
		}
	}
	cuts := make(chan struct{})
	go func() {
		defer close(cuts)
		r := rand.New(rand.NewPCG(seed, 99))
		for ctx.Err() == nil {
			select {
			case <-time.After(time.Duration(200+r.IntN(800)) * time.Millisecond):
				wires.cut()
			case <-ctx.Done():
			}
		}
	}()
	if err := churn(ctx, upstream, ns, seed, 4, time.Now().Add(6*time.Second)); err != nil {
		t.Fatal(err)
	}
	last := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: lastName, Labels: map[string]string{"color": "blue"}}}
	writer := kubernetes.NewForConfigOrDie(upstream).CoreV1().ConfigMaps(ns)
	if _, err := writer.Create(ctx, last, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	last.Labels["color"] = "red"
	if last, err = writer.Update(ctx, last, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	final.Store(number(last.ResourceVersion))
	history := <-truth
	total, relists := 0, 0
	for range clients {
		got := <-results
		if got.err != nil {
			t.Errorf("%s: %v", got.name, got.err)
			continue
		}
		relists += len(got.epochs) - 1
		for _, e := range got.epochs {
			total += len(e.events)
		}
		if err := judge(got.epochs, history, before, got.selects); err != nil {
			t.Errorf("%s: %v", got.name, err)
		}
	}
	cancel()
	<-cuts
	t.Logf("%d events of the cluster, %d seen by %d clients, %d of them listed again", len(history), total, clients, relists)
	if len(history) < leastChanges || total < len(history) {
		t.Error("too little happened to say anything")
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Error("it took too long")
	}
}
