package collector

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/object"
)

// Resource is one kind to collect.
type Resource struct {
	Group, Version string
	Name           string // the plural in URLs, such as pods
	Kind           string
	Namespaced     bool
	// LabelSelector narrows LIST and WATCH; any form that the apiserver accepts.
	LabelSelector string
	// KeyKind is the kind under which objects are cached, stored and counted. Empty means Kind, or Event.group
	// for an Event that is not Kubernetes' own; see AssignKeyKinds.
	KeyKind string
}

// GroupVersion is the apiVersion of the resource's objects.
func (r Resource) GroupVersion() string {
	return schema.GroupVersion{Group: r.Group, Version: r.Version}.String()
}

// Key is the kind under which the resource's objects are cached.
func (r Resource) Key() string {
	switch {
	case r.KeyKind != "":
		return r.KeyKind
	case r.Kind == kindEvent && !r.isEvent():
		return r.Kind + "." + r.Group // Event is where Kubernetes' own are stored, under other rules
	}
	return r.Kind
}

// isEvent reports whether the resource is Kubernetes' own Events, which both groups serve.
func (r Resource) isEvent() bool {
	return r.Kind == kindEvent && (r.Group == "" || r.Group == "events.k8s.io")
}

// String is group/version/kind.
func (r Resource) String() string { return r.GroupVersion() + "/" + r.Kind }

func (r Resource) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.Name}
}

// Validate refuses a resource that cannot be watched.
func (r Resource) Validate() error {
	switch {
	case r.Kind == "":
		return errors.New("resource without a kind")
	case r.Version == "":
		return fmt.Errorf("resource %s: no version", r.Kind)
	case r.Name == "":
		return fmt.Errorf("resource %s: no plural name", r)
	}
	if _, err := labels.Parse(r.LabelSelector); err != nil {
		return fmt.Errorf("resource %s: label selector %q: %w", r, r.LabelSelector, err)
	}
	return nil
}

// Default times of Config.
const (
	// DefaultWatchIdle is the longest silence of a watch. An apiserver sends a bookmark once a minute, and 2 s before
	// a watch's time is up: a watch is asked for less, and a healthy quiet one ends by itself.
	DefaultWatchIdle = 55 * time.Second
	// DefaultListIdle is how long a LIST may take to start, or pause.
	DefaultListIdle = 60 * time.Second
	// DefaultInitialIdle is how long a streaming list may pause before its closing
	// bookmark. Afterwards the plain list is tried.
	DefaultInitialIdle = 8 * time.Second
)

// Config is the user's part.
type Config struct {
	Resources []Resource
	// Namespace limits namespaced kinds to one namespace; empty is all.
	Namespace string
	// IgnoreNamespaces and IgnoreNames are objects that are cached and not sent.
	IgnoreNamespaces, IgnoreNames []string
	Masks                         []object.Mask
	KeepManagedFields             bool
	// WatchIdle, ListIdle and InitialIdle end a connection on which nothing arrived
	// for that long; 0 takes the default, negative never ends it.
	WatchIdle, ListIdle, InitialIdle time.Duration
	// ReadPace is the longest pause before a drained connection is read again; 0 takes the default, negative never
	// pauses. An apiserver writes each event by itself, and waking up costs more than decoding. A change that comes
	// alone is read at once, a bulk transfer as soon as it fills the buffer.
	ReadPace time.Duration
	// Pack keeps cached objects compressed: a fifth of the memory or less, and less
	// CPU too. Readers of an object's content must then use its methods, not Raw.
	Pack bool
	// After names, by their keys, kinds that are listed only after another one's first list,
	// because their objects cannot be judged without its. The wait is bounded.
	After map[string]string
	// Verify compares what is cached with the apiserver.
	Verify Verify
	// PlainList lists in pages instead of streaming the initial state.
	PlainList bool
	// Shard narrows every kind to a part of its objects; nil: all. An apiserver that can narrows lists and watches
	// itself. An object that is made again under its name has another uid: in shards by uid a row of storage has several
	// writers, which storage must be able to tell apart. By name or namespace it has one.
	Shard *kubeapi.Shard
	// Metadata collects the metadata of objects alone, as PartialObjectMetadata.
	Metadata bool
}

// Validate refuses a configuration that could not work.
func (c Config) Validate() error {
	var errs []error
	keys := map[string]Resource{}
	for _, r := range c.Resources {
		if err := r.Validate(); err != nil {
			errs = append(errs, err)
			continue
		}
		if other, taken := keys[r.Key()]; taken {
			errs = append(errs, fmt.Errorf("resources %s and %s both use the key %q", other, r, r.Key()))
		}
		keys[r.Key()] = r
	}
	for _, m := range c.Masks {
		if err := m.Validate(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, value time.Duration) {
		switch {
		case *d == 0:
			*d = value
		case *d < 0:
			*d = 0
		}
	}
	set(&c.WatchIdle, DefaultWatchIdle)
	set(&c.ListIdle, DefaultListIdle)
	set(&c.InitialIdle, DefaultInitialIdle)
	set(&c.ReadPace, DefaultReadPace)
	c.Verify = c.Verify.withDefaults()
	return c
}

// recipe is how objects of r are prepared.
func (c Config) recipe(r Resource) object.Recipe {
	recipe := object.Recipe{
		KeepManagedFields: c.KeepManagedFields,
		APIVersion:        r.GroupVersion(),
		Kind:              r.Kind,
		// A mask of a kind that is defined later cannot be refused at the start for its
		// capitals: better masked than sent.
		Masks: slices.DeleteFunc(slices.Clone(c.Masks), func(m object.Mask) bool {
			return !strings.EqualFold(m.Kind, r.Kind)
		}),
	}
	if c.Pack {
		recipe.Packer = &object.Packer{}
	}
	return recipe
}
