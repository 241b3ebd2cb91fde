package pod

import (
	"context"
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

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/churn"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// requests records what goes through as RBAC takes it, "group/resource verb", and what was forbidden.
type requests struct {
	http.RoundTripper
	mu        sync.Mutex // guards what follows
	made      map[string]bool
	forbidden []string
}

func (q *requests) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := q.RoundTripper.RoundTrip(r)
	q.mu.Lock()
	defer q.mu.Unlock()
	if what := asRBAC(r); what != "" {
		q.made[what] = true
		if err == nil && resp.StatusCode == http.StatusForbidden {
			q.forbidden = append(q.forbidden, what)
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

func TestDiscover(t *testing.T) {
	env := clustertest.Start(t)
	q := &requests{made: map[string]bool{}}
	env.Config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return wrapped{rt, q} })
	for _, profile := range []string{plan.ProfileRollout, plan.ProfileCrashLoop, plan.ProfileNodeFlap, plan.ProfileMixedProduction} {
		q.made = map[string]bool{}
		cfg := plan.Default()
		cfg.Seed, cfg.RunID, cfg.Model, cfg.Rate, cfg.Duration = 1, "t"+strings.ReplaceAll(profile, "-", ""), plan.ModelOpen, 8, units.Duration(15*time.Second)
		cfg.Nodes = 60
		if profile == "" {
			cfg.Bystander = &plan.Bystander{Kind: "ConfigMap", Rate: 2}
		} else {
			cfg.Profile, cfg.Tuning = profile, &plan.Tuning{TimeScale: 300, Rollouts: plan.RolloutTuning{Deployments: 300}}
		}
		p, err := plan.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		log, err := oplog.Create(filepath.Join(t.TempDir(), "ops"))
		if err != nil {
			t.Fatal(err)
		}
		e, err := churn.New(p, churn.Settings{REST: env.Config, Log: log, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		err = churn.NewSession(e, p.Config(), churn.SessionSettings{Out: io.Discard, Log: log, Logger: slog.New(slog.DiscardHandler)}).Run(context.Background())
		e.Close()
		t.Log(profile, err, "\n"+strings.Join(slices.Sorted(maps.Keys(q.made)), "\n"))
	}
}

type wrapped struct {
	http.RoundTripper
	q *requests
}

func (w wrapped) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.RoundTripper.RoundTrip(r)
	w.q.mu.Lock()
	defer w.q.mu.Unlock()
	if what := asRBAC(r); what != "" {
		w.q.made[what] = true
		if err == nil && resp.StatusCode == http.StatusForbidden {
			w.q.forbidden = append(w.q.forbidden, what)
		}
	}
	return resp, err
}
