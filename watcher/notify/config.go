package notify

import (
	"time"

	"github.com/watchbench/watchbench/watcher/setting"
	"github.com/watchbench/watchbench/watcher/watches"
)

// Config is the user's.
type Config struct {
	// Who gets which changes, see [receiving webhooks](webhooks.md).
	Subscriptions []Subscription `json:"subscriptions"`
	// How long the queue is still delivered on shutdown; the rest is counted as dropped.
	DrainTimeout setting.Duration `json:"drainTimeout"`
}

// Subscription is one receiver of one kind's changes.
type Subscription struct {
	// Unique name in metrics, logs and files: lower-case letters, digits and dashes.
	Name string `json:"name"`
	// Kind by its plural, such as `apps/v1/deployments` or `v1/pods`.
	Resource watches.GVR `json:"resource"`
	// Names; empty is all.
	Names []string `json:"names"`
	// Namespaces; empty is all.
	Namespaces []string `json:"namespaces"`
	// Labels, as for `kubectl -l`. An object that begins to match is sent as `ADDED`, one that ceases to as `DELETED`.
	LabelSelector string `json:"labelSelector"`
	// Types to send: `ADDED`, `MODIFIED`, `DELETED`; empty is all.
	Events []string `json:"events"`
	// Send `MODIFIED` only if the value at this path differs, such as `status.phase`. `\.` is a dot within a key.
	ChangedPath string `json:"changedPath"`
	// What is sent at the start: `none`, or `list`, each object as `ADDED`.
	Initial string `json:"initial"`
	// Events of different objects delivered at once; 0 is 4.
	Workers int    `json:"workers"`
	Queue   Queue  `json:"queue"`
	Retry   Retry  `json:"retry"`
	Target  Target `json:"target"`
}

// Queue bounds what waits for one target. When it is full the subscription stops reading until half of it is free, and
// goes on with the difference of each object.
type Queue struct {
	// Events; 0 is 4096.
	Length int `json:"length"`
	// Bytes of their objects; 0 is 16777216 (16 MiB). The last event may exceed it.
	Bytes int64 `json:"bytes"`
}

// The values of Subscription.Initial.
const (
	InitialNone = "none"
	InitialList = "list"
)

// Retry says what becomes of an event that was not taken.
type Retry struct {
	// Longest pause after the first try, 500 ms by default; it doubles. Pauses are random up to that.
	Initial setting.Duration `json:"initial"`
	// Longest pause of all, 1 min by default. `Retry-After` may ask for up to 15 min.
	Max setting.Duration `json:"max"`
	// Tries that reached the target before the event is given up; 0 is 20.
	Tries int `json:"tries"`
	// Time since the first try after which the event is given up, 1 h by default.
	Age setting.Duration `json:"age"`
}

// Target is where to: one of these.
type Target struct {
	Webhook Webhook `json:"webhook"`
	NATS    NATS    `json:"nats"`
	Kafka   Kafka   `json:"kafka"`
}

// Default has no subscriptions.
func Default() Config { return Config{DrainTimeout: setting.Duration(10 * time.Second)} }

func (s Subscription) withDefaults() Subscription {
	set(&s.Workers, 4)
	set(&s.Queue.Length, 4096)
	set(&s.Queue.Bytes, 16<<20)
	set(&s.Initial, InitialNone)
	set(&s.Retry.Initial, setting.Duration(500*time.Millisecond))
	set(&s.Retry.Max, setting.Duration(time.Minute))
	set(&s.Retry.Tries, 20)
	set(&s.Retry.Age, setting.Duration(time.Hour))
	return s
}

func set[T comparable](v *T, unset T) {
	var zero T
	if *v == zero {
		*v = unset
	}
}
