package record

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

// WitnessConfig says what is witnessed.
type WitnessConfig struct {
	Kubeconfig       string     `json:"kubeconfig"` // of the apiserver itself
	OpLog            string     `json:"oplog"`      // file that is written
	Kinds            []Resource `json:"kinds"`
	IgnoreNamespaces []string   `json:"ignoreNamespaces,omitempty"` // whose objects are left out
}

// Witness records what happens to a cluster's objects, whoever writes them: it follows their metadata as a Recorder
// does and appends one oplog.Record of the phase PhaseWitnessed for each event, but none for a state that was there
// before.
//
//   - ResourceVersion is the version of a state that the apiserver has sent; of a deletion it is the object's last
//     state that was seen, and DeletedVersion the deletion's own, where a watch reported it.
//   - The write came after Started, when the witness began, and before Finished, when it received the event. Nothing
//     closer is known: Intended is Finished, and no lag or freshness may be taken from it.
//   - After a 410 states that came and went meanwhile are not in the record, and a deletion found by a list has no
//     version of its own. So what is recorded has happened, and what is not recorded may have.
//   - A modification of a Node is a heartbeat: most are, and metadata does not show the difference.
type Witness struct {
	kinds  []*witnessed
	synced chan struct{} // one for each kind
}

// witnessed is one kind. Only one goroutine at a time uses it.
type witnessed struct {
	*stream
	w      *Witness
	ignore []string
	log    func(oplog.Record)
	began  int64
	known  map[string]uint64 // version by uid: what is there
	synced bool              // the first list is complete
}

// NewWitness makes a Witness of the cluster that access leads to; take is called by several goroutines.
func NewWitness(cfg WitnessConfig, access *rest.Config, take func(oplog.Record), log *slog.Logger) (*Witness, error) {
	client, err := newClient(access)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	w := &Witness{synced: make(chan struct{}, len(cfg.Kinds))}
	for i, r := range cfg.Kinds {
		k := &witnessed{w: w, ignore: cfg.IgnoreNamespaces, log: take, began: began.UnixNano(), known: map[string]uint64{}}
		k.stream = &stream{client: client, metadata: true, resource: r, index: i, objects: map[string]live{}, out: k.take,
			now: func() time.Duration { return time.Since(began) },
			say: func(format string, args ...any) { log.Info(fmt.Sprintf(format, args...)) }}
		w.kinds = append(w.kinds, k)
	}
	return w, nil
}

const lastLists = 30 * time.Second

// Run lists all kinds, calls ready, and records until ctx ends. Then it lists them once more, so that nothing that
// happened before is missing, and returns.
func (w *Witness) Run(ctx context.Context, ready func()) error {
	all, following := errgroup.WithContext(ctx)
	for _, k := range w.kinds {
		all.Go(func() error { return k.run(following) })
	}
	all.Go(func() error {
		for range w.kinds {
			select {
			case <-w.synced:
			case <-following.Done():
				return nil
			}
		}
		ready()
		return nil
	})
	if err := all.Wait(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLists)
	defer cancel()
	for _, k := range w.kinds {
		if !k.synced {
			return fmt.Errorf("the first list of %s is not complete", k.resource)
		}
		if err := k.list(ctx); err != nil {
			return fmt.Errorf("list %s at the end: %w", k.resource, err)
		}
	}
	return nil
}

// take records an event, once the first list is complete.
func (k *witnessed) take(f Frame) error {
	if f.Type == Synced && !k.synced {
		k.synced = true
		k.w.synced <- struct{}{}
	}
	if !f.Type.HoldsObject() || f.Type == Bookmark {
		return nil
	}
	key, now, err := identify(f.Object)
	if err != nil {
		return err
	}
	namespace, name := cutKey(key)
	if namespace != "" && slices.Contains(k.ignore, namespace) {
		return nil
	}
	version, _ := strconv.ParseUint(now.version, 10, 64) // those of Kubernetes are numbers
	was, there := k.known[now.uid]
	at := k.began + int64(f.At)
	r := oplog.Record{
		Phase: oplog.PhaseWitnessed, Kind: k.resource.Kind, Namespace: namespace, Name: name, UID: now.uid,
		ResourceVersion: version, Started: k.began, Intended: at, Finished: at, Status: 200, Type: oplog.TypePatch,
	}
	switch {
	case f.Type == Deleted && !there:
		return nil
	case f.Type == Deleted:
		delete(k.known, now.uid)
		r.Type, r.ResourceVersion = oplog.TypeDelete, was
		if !f.Inferred {
			r.DeletedVersion = version
		}
	case was >= version && there:
		return nil
	default:
		k.known[now.uid] = version
		if !there {
			r.Type = oplog.TypeCreate
		} else if r.Kind == "Node" && f.Type == Modified {
			r.Type = oplog.TypeHeartbeat
		}
	}
	if k.synced {
		k.log(r)
	}
	return nil
}

func cutKey(key string) (namespace, name string) {
	namespace, name, ok := strings.Cut(key, "/")
	if !ok {
		return "", key
	}
	return namespace, name
}
