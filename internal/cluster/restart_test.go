package cluster

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// TestEmbeddedRestore: what was changed since the backup never happened, versions go back, and a watch from one that
// the apiserver does not have any more is opened, silent and ends in order.
func TestEmbeddedRestore(t *testing.T) {
	for _, f := range []func(*Cluster) error{(*Cluster).Backup, func(c *Cluster) error { return c.Restore(t.Context()) }} {
		if err := f(&Cluster{}); !errors.Is(err, ErrFixed) {
			t.Errorf("of a cluster that is not ours: %v", err)
		}
	}
	needControlPlane(t)
	c, err := newEmbeddedIn(t, t.TempDir(), EmbeddedOptions{}).Up(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Down(context.Background()) })
	if err := c.Restore(t.Context()); !errors.Is(err, ErrNoBackup) {
		t.Errorf("without a backup: %v", err)
	}
	cfg, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	maps := kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default")
	made := func(name string) *corev1.ConfigMap {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		m, err := maps.Create(t.Context(), m, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	changed, deleted := made("changed"), made("deleted")
	if err := c.Backup(); err != nil {
		t.Fatal(err)
	}
	next := changed.DeepCopy()
	next.Data = map[string]string{"a": "b"}
	_, err = maps.Update(t.Context(), next, metav1.UpdateOptions{})
	if err = errors.Join(err, maps.Delete(t.Context(), "deleted", metav1.DeleteOptions{})); err != nil {
		t.Fatal(err)
	}
	since, pids := made("since"), c.PIDs[etcdParty]+c.PIDs[apiserverParty]
	if err := c.Restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Check(t.Context()); err != nil || c.PIDs[etcdParty]+c.PIDs[apiserverParty] == pids {
		t.Errorf("%v, processes %v", err, c.PIDs)
	}
	for _, want := range []*corev1.ConfigMap{changed, deleted} {
		m, err := maps.Get(t.Context(), want.Name, metav1.GetOptions{})
		if err != nil || m.UID != want.UID || m.ResourceVersion != want.ResourceVersion {
			t.Errorf("%s: %v, %+v", want.Name, err, m)
		}
	}
	if _, err := maps.Get(t.Context(), "since", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("since: %v", err)
	}
	fromTheFuture(t, maps, since.ResourceVersion)
}

func fromTheFuture(t *testing.T, maps typedcorev1.ConfigMapInterface, version string) {
	t.Helper()
	l, err := maps.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	now, _ := strconv.Atoi(l.ResourceVersion)
	if then, _ := strconv.Atoi(version); now >= then {
		t.Skipf("the restored apiserver is at %d already, before it was at %d", now, then)
	}
	began := time.Now()
	ahead := metav1.ListOptions{ResourceVersion: version, TimeoutSeconds: new(int64(3)), AllowWatchBookmarks: true}
	w, err := maps.Watch(t.Context(), ahead)
	if err != nil {
		t.Fatal(err)
	}
	for e := range w.ResultChan() {
		t.Errorf("%s %+v", e.Type, e.Object)
	}
	if d := time.Since(began); d < 2*time.Second {
		t.Errorf("the watch ended after %s", d)
	}
}
