package watcher

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/leader"
	"github.com/watchbench/watchbench/watcher/object"
)

// door is the replicas' way to a storage. It fails the test where two of them write a row at once, or an older version
// comes after a newer one. A conditional one has shards by uid: there no two may write of a uid.
type door struct {
	*memoryStorage
	t           *testing.T
	conditional bool

	mu      sync.Mutex
	writing map[string]string          // guarded by mu; who writes a row, or uid, now
	latest  map[string]uint64          // guarded by mu; version of a row
	uids    map[string]string          // guarded by mu; of a row
	gone    map[string]bool            // guarded by mu; uids that were deleted
	writers map[string]map[string]bool // guarded by mu; of a row
	writes  int                        // guarded by mu
}

func newDoor(t *testing.T, conditional bool) *door {
	return &door{memoryStorage: newMemoryStorage(t), t: t, conditional: conditional, writing: map[string]string{},
		latest: map[string]uint64{}, uids: map[string]string{}, gone: map[string]bool{}, writers: map[string]map[string]bool{}}
}

// of is the address for a replica.
func (d *door) of(replica string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "K8sWatchState") {
			d.serve(w, r)
			return
		}
		d.write(replica, w, r)
	}))
	d.t.Cleanup(s.Close)
	return s.URL
}

func (d *door) write(replica string, w http.ResponseWriter, r *http.Request) {
	row := path.Base(path.Dir(path.Dir(r.URL.Path))) + "/" + path.Base(path.Dir(r.URL.Path)) + "/" + path.Base(r.URL.Path)
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var put struct{ Data metav1.PartialObjectMetadata }
	if r.Method == http.MethodPut {
		err = errors.Join(err, json.Unmarshal(body, &put))
	}
	if err != nil {
		d.t.Error(err)
	}
	uid := cmp.Or(r.URL.Query().Get("data.metadata.uid"), string(put.Data.UID))
	if d.conditional && uid == "" {
		d.t.Errorf("%s deletes %s whoever has written it", replica, row)
	}
	what := row
	if d.conditional {
		what += " " + uid
	}
	d.mu.Lock()
	if other, busy := d.writing[what]; busy {
		d.t.Errorf("%s and %s write %s at once", replica, other, what)
	}
	d.writing[what] = replica
	if d.writers[row] == nil {
		d.writers[row] = map[string]bool{}
	}
	d.writers[row][replica] = true
	d.writes++
	d.mu.Unlock()
	time.Sleep(time.Duration(rand.N(int64(5 * time.Millisecond))))
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.writing, what)
	v, _ := strconv.ParseUint(put.Data.ResourceVersion, 10, 64)
	switch {
	case r.Method == http.MethodDelete && d.conditional:
		if d.gone[uid] = true; d.uids[row] != uid {
			_, _ = io.WriteString(w, `{"result":true,"code":0,"message":"success","data":{}}`)
			return
		}
		delete(d.uids, row)
	case r.Method == http.MethodDelete:
	case d.conditional && (d.gone[uid] || v < d.latest[row]):
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"result":false,"code":1405082,"message":"stale","data":{}}`)
		return
	case v < d.latest[row]:
		d.t.Errorf("%s: %s has version %d after %d", replica, row, v, d.latest[row])
	default:
		d.latest[row], d.uids[row] = v, uid
	}
	d.serve(w, r)
}

// sharingReplica runs one that divides by four, with short Leases.
func sharingReplica(t *testing.T, env *clustertest.Env, ns, storage string, by kubeapi.By) (*Watcher, func()) {
	t.Helper()
	cfg := config.Default()
	cfg.Default.ClusterID = "BCS-K8S-90001"
	cfg.BCS.CustomStorageEndpoints = config.List{storage}
	cfg.WatchResource.DisableNetService = true
	cfg.BCS.DrainTimeout = config.Duration(time.Second)
	cfg.K8s.Kubeconfig = env.Kubeconfig
	cfg.Port, cfg.MetricPort = freePort(t), freePort(t)
	cfg.LeaderElection.Enabled, cfg.LeaderElection.Namespace, cfg.Shards = true, ns, 4
	cfg.ResourceWatcher.Enabled, cfg.ResourceWatcher.Server.Port = true, freePort(t)
	cfg.ShardBy, cfg.BCS.Conditional = by, by == kubeapi.ByUID
	w, err := New(cfg, config.Filter{K8sResourceWhiteList: []string{"v1", "apps/v1"}}, Settings{Logger: NewLogger(t.Output(), 0)})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.election()
	if err != nil {
		t.Fatal(err)
	}
	c.LeaseDuration, c.RenewDeadline, c.RetryPeriod, c.RequestTimeout = 6*time.Second, 4*time.Second, 200*time.Millisecond, 1500*time.Millisecond
	if w.sharing.group, err = leader.NewGroup(c, 4, string(by), env.Config, NewLogger(t.Output(), 0)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return w, stop
}

// slowly is eventually for what takes several Leases' time, also on a busy machine.
func slowly(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within 2 minutes: " + what)
		}
	}
}

// TestShardsUnderChurn: replicas come and go while objects are made, changed, deleted and made again under their names.
// Each row has one writer at a time and its versions in order, and in the end storage has what the cluster has.
func TestShardsUnderChurn(t *testing.T) {
	env := clustertest.Start(t)
	for by, changes := range map[kubeapi.By]int{kubeapi.ByName: 20, kubeapi.ByUID: 8} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			shardsUnderChurn(t, env, by, changes)
		})
	}
}

func shardsUnderChurn(t *testing.T, env *clustertest.Env, by kubeapi.By, changes int) {
	client, ns, d := kubernetes.NewForConfigOrDie(env.Config), clustertest.Namespace(t, env.Config), newDoor(t, by == kubeapi.ByUID)
	maps := client.CoreV1().ConfigMaps(ns)
	churning, end := context.WithCancel(t.Context())
	defer end()
	var churn sync.WaitGroup
	for part := range 4 {
		churn.Go(func() {
			for i := 0; churning.Err() == nil; i++ {
				name := fmt.Sprintf("cm-%d-%d", part, rand.N(10))
				cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"i": strconv.Itoa(i)}}
				switch rand.N(4) { // what is there or is not there is an error, which is none
				case 0:
					_ = maps.Delete(churning, name, metav1.DeleteOptions{})
				case 1:
					_ = maps.Delete(churning, name, metav1.DeleteOptions{})
					_, _ = maps.Create(churning, cm, metav1.CreateOptions{})
				case 2:
					_, _ = maps.Create(churning, cm, metav1.CreateOptions{})
				default:
					_, _ = maps.Update(churning, cm, metav1.UpdateOptions{})
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	type running struct {
		w    *Watcher
		stop func()
	}
	var all []running
	began := 0
	join := func() {
		began++
		w, stop := sharingReplica(t, env, ns, d.of(fmt.Sprint("replica ", began)), by)
		all = append(all, running{w, stop})
	}
	held := func() (sum int) {
		for _, r := range all {
			sum += r.w.sharing.group.Held()
		}
		return sum
	}
	settled := func() bool { // with a difference of one at most
		least, most := 4, 0
		for _, r := range all {
			n := r.w.sharing.group.Held()
			least, most = min(least, n), max(most, n)
		}
		return held() == 4 && most-least <= 1
	}
	join()
	slowly(t, "one has all", func() bool { return held() == 4 })
	for range changes {
		switch {
		case len(all) == 1 || len(all) < 3 && rand.N(2) == 0:
			join()
		default:
			i := rand.N(len(all))
			all[i].stop()
			all = append(all[:i], all[i+1:]...)
		}
		if rand.N(3) == 0 {
			slowly(t, "the shards are divided evenly", settled)
		} else {
			time.Sleep(time.Duration(rand.N(int64(2 * time.Second))))
		}
	}
	end()
	churn.Wait()
	slowly(t, "the shards are divided evenly", settled)
	slowly(t, "all are ready", func() bool {
		for _, r := range all {
			if r.w.ready() != nil {
				return false
			}
		}
		return true
	})
	slowly(t, "storage has what the cluster has", func() bool {
		list, err := maps.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		d.memoryStorage.mu.Lock()
		defer d.memoryStorage.mu.Unlock()
		n := 0
		for row := range d.rows {
			if strings.HasPrefix(row, "ConfigMap/"+ns+"/cm-") {
				n++
			}
		}
		for _, cm := range list.Items {
			row := d.rows["ConfigMap/"+ns+"/"+cm.Name]
			if strings.HasPrefix(cm.Name, "cm-") {
				n--
				if !strings.Contains(string(row), fmt.Sprintf("%q", cm.ResourceVersion)) || !strings.Contains(string(row), string(cm.UID)) {
					return false
				}
			}
		}
		return n == 0
	})
	many := 0
	for _, writers := range d.writers {
		many += min(len(writers)-1, 1)
	}
	if d.writes < 200 || many < 10 {
		t.Errorf("%d writes, %d rows with several writers: too little to judge", d.writes, many)
	}
}

// TestOwnersFollowLate: ReplicaSets that the apiserver names only later are followed, too.
func TestOwnersFollowLate(t *testing.T) {
	cfg := config.Default()
	cfg.Default.ClusterID, cfg.BCS.CustomStorageEndpoints = "BCS-K8S-90001", config.List{"http://127.0.0.1:1"}
	cfg.WatchResource.DisableNetService = true
	cfg.LeaderElection.Enabled, cfg.Shards, cfg.MetricPort = true, 2, cfg.Port+1
	w, err := New(cfg, config.Filter{}, Settings{Logger: NewLogger(t.Output(), 0), Kube: &rest.Config{Host: "http://127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	one, err := w.sharing.session(&leader.Holding{})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range []collector.Resource{{Version: "v1", Name: "pods", Kind: kindPod, Namespaced: true},
		{Group: "apps", Version: "v1", Name: "replicasets", Kind: kindReplicaSet, Namespaced: true}} {
		if err := one.collector.AddResource(r); err != nil {
			t.Fatal(err)
		}
		if one.added(r.Key()); w.sharing.owners.Collected(kindReplicaSet) != (i == 1) {
			t.Errorf("after %s: followed: %t", r.Kind, i == 0)
		}
	}
}

// TestShards: two replicas share four shards. Each Pod names its workload, wherever its ReplicaSet is; the series of a
// shard carry its number and go with it; all rows are there once.
func TestShards(t *testing.T) {
	env := clustertest.Start(t)
	client, ns, d := kubernetes.NewForConfigOrDie(env.Config), clustertest.Namespace(t, env.Config), newDoor(t, false)
	controller := true
	for i := range 12 {
		rs := &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("web-", i), Labels: map[string]string{"app": "web"}, OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "Deployment", Name: fmt.Sprint("deployment-", i), UID: "1", Controller: &controller}}},
			Spec: appsv1.ReplicaSetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
					Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}},
			},
		}
		rs = must[*appsv1.ReplicaSet](t)(client.AppsV1().ReplicaSets(ns).Create(t.Context(), rs, metav1.CreateOptions{}))
		must[*corev1.Pod](t)(client.CoreV1().Pods(ns).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("pod-", i), OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: rs.Name, UID: rs.UID, Controller: &controller}}},
			Spec: rs.Spec.Template.Spec,
		}, metav1.CreateOptions{}))
	}
	a, _ := sharingReplica(t, env, ns, d.of("a"), kubeapi.ByName)
	slowly(t, "one is ready with all", func() bool { return a.sharing.group.Held() == 4 && a.ready() == nil })
	series := func(w *Watcher) (byShard map[string]int) {
		families, err := w.gatherer().Gather()
		if err != nil {
			t.Fatal(err)
		}
		byShard = map[string]int{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					if l.GetName() == "shard" {
						byShard[l.GetValue()+" "+f.GetName()]++
					}
				}
			}
		}
		return byShard
	}
	has := func(w *Watcher) (all string) {
		for shard := range 4 {
			if series(w)[fmt.Sprint(shard, " ", metric.ServerSharded)] > 0 {
				all += fmt.Sprint(shard)
			}
		}
		return all
	}
	if got := has(a); got != "0123" {
		t.Errorf("series of shards %q, want all", got)
	}
	b, stopB := sharingReplica(t, env, ns, d.of("b"), kubeapi.ByName)
	slowly(t, "two are ready with half each", func() bool {
		return a.sharing.group.Held() == 2 && b.sharing.group.Held() == 2 && a.ready() == nil && b.ready() == nil
	})
	if all := has(a) + has(b); len(all) != 4 || strings.Trim(all, "0123") != "" || len(has(a)) != 2 {
		t.Errorf("series of shards %q and %q, want each once", has(a), has(b))
	}
	foreign := 0
	for _, w := range []*Watcher{a, b} {
		for _, one := range w.sharing.held() {
			for i := range 12 {
				pod := object.Key{Kind: kindPod, Namespace: ns, Name: fmt.Sprint("pod-", i)}
				above := object.Key{Kind: kindReplicaSet, Namespace: ns, Name: fmt.Sprint("web-", i)}
				_, cached := one.collector.Get(pod)
				if _, also := one.collector.Get(above); cached && !also {
					foreign++
				}
			}
		}
	}
	if foreign == 0 {
		t.Error("each ReplicaSet is in its Pod's shard: nothing to judge")
	}
	eventually(t, "each Pod names its workload", func() bool {
		for i := range 12 {
			row, _ := d.get(fmt.Sprintf("Pod/%s/pod-%d", ns, i))
			if !strings.Contains(row, fmt.Sprintf(`"%s":"deployment-%d"`, workloadName, i)) {
				return false
			}
		}
		return true
	})
	for _, w := range []*Watcher{a, b} {
		rs, is := w.sharing.owners.Get(object.Key{Kind: kindReplicaSet, Namespace: ns, Name: "web-0"})
		if !is || strings.Contains(string(rs.JSON()), `"labels"`) {
			t.Errorf("of an owner %v is kept, want nothing but who owns it", rs)
		}
		text, err := exposition(w.gatherer())
		if err != nil || !strings.Contains(string(text), "\n"+metric.Shards+" 4\n") {
			t.Errorf("no number of shards, %v", err)
		}
	}
	for _, w := range []*Watcher{a, b} { // all, though each has half
		list := httptest.NewRecorder()
		w.resources.handler.ServeHTTP(list, httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/namespaces/"+ns+"/pods", nil))
		var pods metav1.PartialObjectMetadataList
		if err := json.Unmarshal(list.Body.Bytes(), &pods); err != nil || len(pods.Items) != 12 {
			t.Errorf("a reader gets %d Pods of 12, %v: %.300s", len(pods.Items), err, list.Body)
		}
	}
	stopB()
	slowly(t, "one is ready with all", func() bool { return a.sharing.group.Held() == 4 && a.ready() == nil })
}
