package readers

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

// WitnessConfig says what is witnessed.
type WitnessConfig struct {
	Kubeconfig       string        `json:"kubeconfig"` // of the apiserver itself
	OpLog            string        `json:"oplog"`      // file that is written
	Kinds            []WitnessKind `json:"kinds"`
	IgnoreNamespaces []string      `json:"ignoreNamespaces,omitempty"` // whose objects are left out
}

// WitnessKind is one to be watched, by the name that records have, such as ReplicaSet.
type WitnessKind struct {
	Name     string                      `json:"name"`
	Resource schema.GroupVersionResource `json:"resource"`
}

// Witness records what happens to a cluster's objects, whoever writes them: it lists and watches their metadata and
// appends one oplog.Record of the phase PhaseWitnessed for each event. It shows no state that was there before.
//
//   - ResourceVersion is the version of a state that the apiserver has sent; of a deletion it is the object's last
//     state that was seen, and DeletedVersion the deletion's own, where a watch reported it.
//   - The write came after Started, when the witness began, and before Finished, when it received the event. Nothing
//     closer is known: Intended is Finished, and no lag or freshness may be taken from it.
//   - A watch that ends is resumed; after a 410 the kind is listed again: states that came and went meanwhile are not
//     in the record, and a deletion found in this way has no version of its own. So what is recorded has happened, and
//     what is not recorded may have.
//   - A modification of a Node is a heartbeat: most are, and metadata does not show the difference.
type Witness struct {
	cfg    WitnessConfig
	client metadata.Interface
	log    func(oplog.Record)
	say    *slog.Logger
	began  int64
	kinds  []*kind
}

// NewWitness makes a Witness of the cluster that access leads to; take is called by several goroutines.
func NewWitness(cfg WitnessConfig, access *rest.Config, take func(oplog.Record), say *slog.Logger) (*Witness, error) {
	access = rest.CopyConfig(access)
	access.QPS = -1
	client, err := metadata.NewForConfig(access)
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	w := &Witness{cfg: cfg, client: client, log: take, say: say, began: time.Now().UnixNano()}
	for _, k := range cfg.Kinds {
		w.kinds = append(w.kinds, &kind{w: w, WitnessKind: k, known: map[string]object{}})
	}
	return w, nil
}

const (
	// listPage is the apiserver's page of a list.
	listPage = 500
	// again is the pause before a request that failed is repeated.
	again = 100 * time.Millisecond
)

// Run lists all kinds, calls ready, and records until ctx ends. Then it lists them once more, so that nothing is
// missing that happened before, and returns.
func (w *Witness) Run(ctx context.Context, ready func()) error {
	for _, k := range w.kinds {
		if err := k.list(ctx, false); err != nil {
			return fmt.Errorf("list %s: %w", k.Name, err)
		}
	}
	ready()
	all, watching := errgroup.WithContext(ctx)
	for _, k := range w.kinds {
		all.Go(func() error { return k.follow(watching) })
	}
	if err := all.Wait(); err != nil {
		return err
	}
	for _, k := range w.kinds {
		if err := k.list(context.WithoutCancel(ctx), true); err != nil {
			return fmt.Errorf("list %s at the end: %w", k.Name, err)
		}
	}
	return nil
}

// kind is one that is watched. Only one goroutine at a time uses it.
type kind struct {
	WitnessKind
	w       *Witness
	known   map[string]object // by uid: what is there
	version string            // of the collection, to watch from
}

type object struct {
	namespace, name string
	version         uint64
}

// list reads the collection. With record it records how it differs from what is known.
func (k *kind) list(ctx context.Context, record bool) error {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	seen := map[string]bool{}
	var version string
	for next := ""; ; {
		page, err := k.w.client.Resource(k.Resource).List(ctx, metav1.ListOptions{Limit: listPage, Continue: next})
		if err != nil {
			return err
		}
		now := time.Now().UnixNano()
		for i := range page.Items {
			m := &page.Items[i].ObjectMeta
			seen[string(m.UID)] = true
			if record {
				k.state(m, watch.Modified, now)
			} else {
				k.learn(m)
			}
		}
		version = page.ResourceVersion
		if next = page.Continue; next == "" {
			break
		}
	}
	k.version = version // of a whole list only: objects missing in a page would never be reported
	now := time.Now().UnixNano()
	for uid, o := range k.known {
		if !seen[uid] {
			k.gone(uid, o, 0, now)
		}
	}
	return nil
}

// follow watches until ctx ends, whatever becomes of one watch.
func (k *kind) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		err := k.watch(ctx)
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			k.w.say.Info("listing again", "kind", k.Name, "err", err)
			err = k.list(ctx, true)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			return fmt.Errorf("watch %s: %w", k.Name, err)
		}
		k.w.say.Info("watching again", "kind", k.Name, "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
	return nil
}

func (k *kind) watch(ctx context.Context) error {
	stream, err := k.w.client.Resource(k.Resource).Watch(ctx,
		metav1.ListOptions{ResourceVersion: k.version, AllowWatchBookmarks: true})
	if err != nil {
		return err
	}
	defer stream.Stop()
	for e := range stream.ResultChan() {
		now := time.Now().UnixNano()
		if e.Type == watch.Error {
			return apierrors.FromObject(e.Object)
		}
		m, ok := e.Object.(*metav1.PartialObjectMetadata)
		if !ok {
			return fmt.Errorf("the watch sent a %T", e.Object)
		}
		switch e.Type {
		case watch.Added, watch.Modified:
			k.state(&m.ObjectMeta, e.Type, now)
		case watch.Deleted:
			if o, there := k.known[string(m.UID)]; there {
				k.gone(string(m.UID), o, number(m.ResourceVersion), now)
			}
		case watch.Bookmark:
		}
		k.version = m.ResourceVersion
	}
	return nil
}

// state records that an object has a state which was not known.
func (k *kind) state(m *metav1.ObjectMeta, how watch.EventType, at int64) {
	was, there := k.known[string(m.UID)]
	if !k.learn(m) || there && was.version >= number(m.ResourceVersion) {
		return
	}
	r := k.record(string(m.UID), k.known[string(m.UID)], at)
	switch {
	case !there:
		r.Type = oplog.TypeCreate
	case k.Name == "Node" && how == watch.Modified:
		r.Type = oplog.TypeHeartbeat
	default:
		r.Type = oplog.TypePatch
	}
	k.w.log(r)
}

// learn keeps what is known of an object, unless it is one to be left out.
func (k *kind) learn(m *metav1.ObjectMeta) bool {
	if m.Namespace != "" && slices.Contains(k.w.cfg.IgnoreNamespaces, m.Namespace) {
		return false
	}
	k.known[string(m.UID)] = object{m.Namespace, m.Name, number(m.ResourceVersion)}
	return true
}

// gone records the deletion of an object, whose version is 0 where it is not known.
func (k *kind) gone(uid string, o object, version uint64, at int64) {
	delete(k.known, uid)
	r := k.record(uid, o, at)
	r.Type, r.DeletedVersion = oplog.TypeDelete, version
	k.w.log(r)
}

func (k *kind) record(uid string, o object, at int64) oplog.Record {
	return oplog.Record{
		Phase: oplog.PhaseWitnessed, Kind: k.Name, Namespace: o.namespace, Name: o.name, UID: uid, ResourceVersion: o.version,
		Started: k.w.began, Intended: at, Finished: at, Status: 200,
	}
}

// number is a resourceVersion as a number, which those of Kubernetes are.
func number(version string) uint64 {
	n, _ := strconv.ParseUint(version, 10, 64)
	return n
}
