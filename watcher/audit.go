package watcher

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
	"github.com/watchbench/watchbench/watcher/synchronizer"
)

// AuditOptions come from the command line.
type AuditOptions struct {
	Wait time.Duration // between two looks at a difference
	QPS  float64       // requests per second, to each side
}

// Audited is the result of an audit.
type Audited struct {
	Cluster   string                    `json:"cluster"` // its id
	Apiserver string                    `json:"apiserver"`
	Findings  []synchronizer.Finding    `json:"findings"`
	Kinds     []synchronizer.KindReport `json:"kinds"`
}

// storageWithin is how long ZooKeeper has to name a storage that answers.
const storageWithin = 10 * time.Second

// Audit compares what storage holds with what a watcher of that configuration would have
// stored of the cluster. It only reads. The error is an *InputError where the configuration
// is wrong; any other says which side could not be read at all.
func Audit(ctx context.Context, cfg config.Config, filter config.Filter, o AuditOptions, log *slog.Logger) (Audited,
	error) {
	cfg.LeaderElection.Enabled, cfg.ResourceWatcher.Enabled, cfg.Alertor = false, false, config.Alertor{}
	cfg.WatchResource.DisableNetService = true
	w, err := New(cfg, filter, Settings{Logger: log})
	if err != nil {
		return Audited{}, err
	}
	c := w.copying
	out := Audited{Cluster: cfg.Default.ClusterID, Apiserver: badinput.Redact(c.served.host),
		Findings: []synchronizer.Finding{}}
	read := func(ctx context.Context) error {
		if err := c.platform.findStorage(ctx); err != nil {
			return err
		}
		return c.audit(ctx, o, &out)
	}
	if len(c.platform.finds) == 0 {
		return out, read(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err = lifecycle.Run(ctx, append(c.platform.finds, lifecycle.Stage{Name: "audit", Run: func(ctx context.Context) error {
		defer cancel()
		return read(ctx)
	}})...)
	return out, err
}

// findStorage waits for storage with little patience.
func (p *platform) findStorage(ctx context.Context) error {
	for begin := time.Now(); ; {
		err := p.ask(ctx)
		switch {
		case err == nil:
			return nil
		case untrusted(err):
			return &InputError{Key: p.storageKey(), Err: err}
		case len(p.cfg.BCS.CustomStorageEndpoints) > 0 || time.Since(begin) > storageWithin || lifecycle.Pause(ctx,
			startPause) != nil:
			return fmt.Errorf("storage (key %s) cannot be read: %w", p.storageKey(), err)
		}
	}
}

func (c *copying) audit(ctx context.Context, o AuditOptions, out *Audited) error {
	config := c.wanted.collector(nil)
	config.Pack = false
	lister, err := collector.NewLister(c.kube, config)
	if err != nil {
		return &InputError{Err: err}
	}
	defer lister.Close()
	lister.Pause = time.Duration(float64(time.Second) / o.QPS)
	s := &auditSource{
		lister: lister, config: config,
		resources: map[string]collector.Resource{}, owners: map[object.Key]*object.Object{},
	}
	unknown, err := c.auditKinds(ctx, s)
	if err != nil {
		return err
	}
	cc, err := c.comparison()
	if err != nil {
		return &InputError{Err: err}
	}
	cc.QPS, cc.Concurrency = o.QPS, 1
	// Pods are annotated by their ReplicaSets.
	keys := slices.SortedFunc(maps.Keys(s.resources), func(a, b string) int {
		return cmp.Or(-cmp.Compare(strings.Count(a, kindReplicaSet), strings.Count(b, kindReplicaSet)), cmp.Compare(a, b))
	})
	a := synchronizer.NewAudit(
		synchronizer.AuditConfig{Config: cc, Kinds: keys, Complete: len(unknown) == 0, Wait: o.Wait},
		synchronizer.Settings{Storage: c.platform.storage, Logger: c.log}, s)
	kinds, found, err := a.Run(ctx)
	out.Kinds, out.Findings = append(kinds, unknown...), append(out.Findings, found...)
	return err
}

// auditKinds gives s the kinds that a watcher would collect, and reports those of which that
// cannot be learned.
func (c *copying) auditKinds(ctx context.Context, s *auditSource) (unknown []synchronizer.KindReport, err error) {
	found, broken, err := c.served.look(ctx)
	if err != nil {
		return nil, err
	}
	groups, _ := c.served.last()
	if err := c.checkMasks(groups, found); err != nil {
		return nil, err
	}
	for _, group := range broken {
		unknown = append(unknown, synchronizer.KindReport{Kind: "API group " + group,
			Error: "cluster: " + badinput.Redact(c.served.trouble().err.Error())})
	}
	for _, r := range found {
		s.resources[r.Key()] = r
	}
	if c.custom() {
		nothing := func(string) {}
		to, err := collector.NewKinds(collector.KindsSettings{To: s, WhiteList: c.filter.K8sResourceWhiteList,
			Added: nothing, Removed: nothing,
			Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, err
		}
		to.Begin()
		follow := collector.NewFollower(c.crdConfig(), to)
		if _, err := s.lister.Objects(ctx, collector.Definitions, func(o *object.Object) error {
			return follow.Enqueue(ctx, pipeline.Event{Action: pipeline.Put, Key: o.Key, Object: o})
		}); err != nil {
			unknown = append(unknown, synchronizer.KindReport{Kind: collector.Definitions.Kind,
				Error: "cluster: " + rightsHint(err).Error()})
		}
	}
	if len(s.resources)+len(unknown) == 0 {
		return nil, &InputError{File: c.cfg.FilterConfigPath,
			Err: errors.New("nothing is compared: the filter file lets no kind through; k8s-watch check says why")}
	}
	return unknown, nil
}

// rightsHint says how to get a right that is missing.
func rightsHint(err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w; \"k8s-watch rbac\" prints the rights", err)
	}
	return err
}

// auditSource implements synchronizer.Source: objects as the watcher sends them.
type auditSource struct {
	lister    *collector.Lister
	config    collector.Config
	resources map[string]collector.Resource // by key
	// owners are the ReplicaSets, of which no more than their owners is kept; fresh, that they
	// were read since the last list of Pods.
	owners map[object.Key]*object.Object
	fresh  bool
}

var (
	_ synchronizer.Source  = (*auditSource)(nil)
	_ collector.Collection = (*auditSource)(nil)
	_ cache                = (*auditSource)(nil)
)

// Get implements cache.
func (s *auditSource) Get(k object.Key) (*object.Object, bool) { o, ok := s.owners[k]; return o, ok }

// Resources implements collector.Collection, as the next four do.
func (s *auditSource) Resources() []collector.Resource {
	return slices.Collect(maps.Values(s.resources))
}

func (s *auditSource) AddResource(r collector.Resource) error { s.resources[r.Key()] = r; return nil }

func (s *auditSource) MoveResource(r collector.Resource) error { return s.AddResource(r) }

func (s *auditSource) RemoveResource(key string) error { delete(s.resources, key); return nil }

// NotServed is never so.
func (*auditSource) NotServed(string) bool { return false }

// ClusterScoped implements synchronizer.Source.
func (s *auditSource) ClusterScoped(kind string) bool {
	r, known := s.resources[kind]
	return known && !r.Namespaced
}

// Objects implements synchronizer.Source. An object that a mask cannot be applied to is not sent.
func (s *auditSource) Objects(ctx context.Context, kind string, each func(object.Key, synchronizer.State)) error {
	if _, collected := s.resources[kindReplicaSet]; kind == kindPod && collected && !s.fresh {
		if err := s.Objects(ctx, kindReplicaSet, func(object.Key, synchronizer.State) {}); err != nil {
			return err
		}
	}
	if kind == kindReplicaSet {
		clear(s.owners)
	}
	s.fresh = kind == kindReplicaSet || s.fresh && kind != kindPod
	if err := lifecycle.Pause(ctx, s.lister.Pause); err != nil {
		return err
	}
	r, w := s.resources[kind], workload{cache: s}
	_, err := s.lister.Objects(ctx, r, func(o *object.Object) error {
		if kind == kindReplicaSet {
			s.owners[o.Key] = ownersOnly(o.Raw)
		}
		if !o.HasContent() || !s.config.Wants(r, o.Key) {
			return nil
		}
		st := synchronizer.State{UID: o.UID, Version: o.ResourceVersion}
		var created time.Time
		if json.Unmarshal(jsonscan.Lookup(o.Raw, "metadata", "creationTimestamp"), &created) == nil {
			st.Created = created.Unix()
		}
		sent, _, err := w.annotate(o)
		if err == nil {
			st.Sum = synchronizer.Sum(kind, sent.Raw)
			each(o.Key, st)
		}
		return err
	})
	return rightsHint(err)
}

// ownersOnly is an object of which its owners are left.
func ownersOnly(raw []byte) *object.Object {
	o := &object.Object{Raw: []byte("{}")}
	if owners := jsonscan.Lookup(raw, "metadata", "ownerReferences"); owners != nil {
		o.Raw = slices.Concat([]byte(`{"metadata":{"ownerReferences":`), owners, []byte("}}"))
	}
	return o
}
