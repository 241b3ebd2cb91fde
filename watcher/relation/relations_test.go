package relation_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/watchbench/watchbench/watcher/relation"
	"github.com/watchbench/watchbench/watcher/setting"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// TestOneStateOfAKind: while Pods move from one owner to another, each is shown below one of
// them, never both or neither.
func TestOneStateOfAKind(t *testing.T) {
	const sets, number = 200, 40 // so many owners take a while to look at
	c := newCluster()
	c.put(t, plain("apps/v1/Deployment", "a/web", "d"))
	for i := range sets {
		c.put(t, owned("apps/v1/ReplicaSet", fmt.Sprint("a/r", i), fmt.Sprint("r", i), "apps/v1/Deployment web d"))
	}
	move := func(i, to int) {
		c.put(t, owned("v1/Pod", fmt.Sprint("a/p", i), fmt.Sprint("p", i), fmt.Sprintf("apps/v1/ReplicaSet r%d r%d", to, to)))
	}
	for i := range number {
		move(i, i)
	}
	r := relations(t, c, &guard{}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	all.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			move(i%number, i*71%sets)
			runtime.Gosched()
		}
	})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for range 30 {
				a, err := r.Graph(t.Context(), question(t, "apps/v1/Deployment a/web down 2"), nil)
				if err != nil {
					t.Error(err)
					return
				}
				if len(a.Edges) != sets+number || len(a.Nodes) != 1+sets+number {
					t.Errorf("%d edges, %d nodes", len(a.Edges), len(a.Nodes))
					return
				}
			}
		})
	}
	readers.Wait()
}

// slow takes its time for the first list of a kind, the apps group aside.
type slow struct {
	*cluster
	takes time.Duration
	began map[watches.GVR]time.Time
}

func (s *slow) Open(ctx context.Context, r watches.GVR, wait watches.Wait) (*watches.Watch, error) {
	if s.began[r].IsZero() {
		s.began[r] = time.Now()
	}
	left := s.takes - time.Since(s.began[r])
	switch {
	case r.Group == "apps" || left <= 0:
	case wait.For < 0:
		return nil, &watches.UnsyncedError{}
	default:
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(left):
		}
	}
	return s.cluster.Open(ctx, r, wait)
}

// TestWaitsTogether: the first lists of all kinds take one wait, not one each, and no longer than is configured.
func TestWaitsTogether(t *testing.T) {
	for _, tt := range []struct {
		takes, want time.Duration
		gaps        int
	}{{time.Second, time.Second, 1}, {time.Hour, 5 * time.Second, 2}} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster()
			c.put(t, plain("apps/v1/ReplicaSet", "a/r", "r"))
			r := must(relation.New(relation.Default(), relation.Settings{Kinds: &slow{c, tt.takes, map[watches.GVR]time.Time{}}, Guard: &guard{}, Followed: func() []watches.GVR { return nil }}))
			began := time.Now()
			a := ask(t, r, "apps/v1/ReplicaSet a/r down 3")
			if took := time.Since(began); took != tt.want {
				t.Errorf("took %s; want %s", took, tt.want)
			}
			g := a.Types[relation.Owner].Gaps
			if len(g) != tt.gaps || tt.gaps == 2 && (g[1].Reason != relation.NotSynced || len(g[1].Kinds) < 8) {
				t.Errorf("%+v", g)
			}
		})
	}
}

// TestEndOfTheRequest ends a query that waits.
func TestEndOfTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		r, err := relation.New(relation.Default(), relation.Settings{Kinds: &slow{c, time.Hour, map[watches.GVR]time.Time{}}, Guard: &guard{}, Followed: func() []watches.GVR { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err = r.Graph(ctx, question(t, "v1/Pod a/p down 1"), nil)
		if err == nil || time.Since(began) != time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

func TestConfig(t *testing.T) {
	if err := relation.Default().Validate(); err != nil {
		t.Error(err)
	}
	tests := []struct {
		change func(*relation.Config)
		want   string
	}{
		{func(c *relation.Config) { c.Kinds = []string{"apps/v1/replicasets"} }, `kinds[0]: "apps/v1/replicasets": want resource.group in lower case, such as replicasets.apps, or pods of the core group`},
		{func(c *relation.Config) { c.Kinds = []string{"pods", "Pod"} }, `kinds[1]: "Pod": want resource.group`},
		{func(c *relation.Config) { c.Kinds = []string{"pods", "pods"} }, `kinds[1]: "pods" stands twice`},
		{func(c *relation.Config) { c.Kinds = []string{"secrets"} }, `kinds[0]: "secrets": Secrets are never looked into`},
		{func(c *relation.Config) { c.MaxNodes = 0 }, "maxNodes: 0: want 1 to 100000"},
		{func(c *relation.Config) { c.Wait = 0 }, "wait: 0s: want more than 0s, and at most 30s"},
		{func(c *relation.Config) { c.Wait = setting.Duration(time.Minute) }, "wait: 1m0s: want"},
	}
	for _, tt := range tests {
		c := relation.Default()
		tt.change(&c)
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%v; want %s", err, tt.want)
		}
	}
}

// TestFollowedVersion: a kind is read in the version that is followed, unless the query names another.
func TestFollowedVersion(t *testing.T) {
	c := newCluster()
	old := watches.GVR{Group: "autoscaling", Version: "v1", Resource: "horizontalpodautoscalers"}
	c.put(t, plain("apps/v1/Deployment", "a/web", "d"))
	const hpa = `"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}}`
	c.put(t, with("autoscaling/v1/HorizontalPodAutoscaler", "a/h", "h", hpa))
	c.put(t, with("autoscaling/v2/HorizontalPodAutoscaler", "a/h", "h", hpa))
	r := relations(t, c, &guard{}, nil)
	scaler := func() string { return ask(t, r, "apps/v1/Deployment a/web up 1").Nodes[1].GVK }
	if got := scaler(); got != "autoscaling/v2/HorizontalPodAutoscaler" {
		t.Errorf("preferred: %s", got)
	}
	c.followed = []watches.GVR{old}
	if got := scaler(); got != "autoscaling/v1/HorizontalPodAutoscaler" {
		t.Errorf("followed: %s", got)
	}
	a := ask(t, r, "autoscaling/v2/HorizontalPodAutoscaler a/h down 1")
	if a.Nodes[0].GVK != "autoscaling/v2/HorizontalPodAutoscaler" || a.ResourceVersions["autoscaling/v1/horizontalpodautoscalers"] != "" {
		t.Errorf("%+v", a)
	}
}

// TestVersions names what was read.
func TestVersions(t *testing.T) {
	c := newCluster()
	c.put(t, plain("v1/Pod", "a/p", "p"))
	c.views[podsGVR].Advance(4711)
	a := ask(t, relations(t, c, &guard{}, nil), "v1/Pod a/p up 1")
	if a.ResourceVersions["v1/pods"] != "4711" || a.ResourceVersions["autoscaling/v2/horizontalpodautoscalers"] != "100" || a.Nodes[0].ResourceVersion != "101" {
		t.Errorf("%v, node at %s", a.ResourceVersions, a.Nodes[0].ResourceVersion)
	}
	c.drop(t, podsGVR, view.Name{Namespace: "a", Name: "p"})
	if _, err := relations(t, c, &guard{}, nil).Graph(t.Context(), question(t, "v1/Pod a/p up 1"), nil); !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}
