package notify

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/watchbench/watchbench/watcher/watches"
)

// Validate refuses a configuration that could not work. Each error names its key and says what would be right.
func (c Config) Validate() error {
	var errs []error
	names := map[string]int{}
	for i, s := range c.Subscriptions {
		at := fmt.Sprintf("subscriptions[%d]", i)
		if first, taken := names[s.Name]; taken {
			errs = append(errs, KeyError(at+".name", "%q is the name of subscriptions[%d], want another one", s.Name,
				first))
		} else {
			names[s.Name] = i
		}
		for _, err := range s.check() {
			errs = append(errs, fmt.Errorf("%s.%w", at, err))
		}
	}
	if c.DrainTimeout < 0 {
		errs = append(errs, KeyError("drainTimeout", `is negative, want a time such as "10s"`))
	}
	return errors.Join(errs...)
}

// maxWorkers bounds the connections and bodies of one target.
const maxWorkers = 256

// check returns what is wrong with the subscription; the errors begin with the key below it.
func (s Subscription) check() (errs []error) {
	wrong := func(key, format string, args ...any) {
		errs = append(errs, KeyError(key, format, args...))
	}
	if len(validation.IsDNS1123Label(s.Name)) > 0 {
		wrong("name", "%q, want lower-case letters, digits and dashes, 63 at most", s.Name)
	}
	if s.Resource == (watches.GVR{}) {
		wrong("resource", `missing, want one such as "apps/v1/deployments" or "v1/pods"`)
	}
	for i, n := range s.Namespaces {
		if len(validation.IsDNS1123Label(n)) > 0 {
			wrong(fmt.Sprintf("namespaces[%d]", i), "invalid namespace %q", n)
		}
	}
	for i, n := range s.Names {
		if n == "" || strings.ContainsAny(n, "/%") {
			wrong(fmt.Sprintf("names[%d]", i), "invalid object name %q", n)
		}
	}
	if _, err := labels.Parse(s.LabelSelector); err != nil {
		wrong("labelSelector", "%w", err)
	}
	for i, e := range s.Events {
		if typeOf(e) == 0 {
			wrong(fmt.Sprintf("events[%d]", i), "%q, want ADDED, MODIFIED or DELETED", e)
		}
	}
	if _, err := parsePath(s.ChangedPath); err != nil {
		wrong("changedPath", "%w", err)
	}
	if s.ChangedPath != "" && len(s.Events) > 0 && !slices.Contains(s.Events, "MODIFIED") {
		wrong("changedPath", "is about MODIFIED, which events leaves out")
	}
	if !slices.Contains([]string{"", InitialNone, InitialList}, s.Initial) {
		wrong("initial", "%q, want %s or %s", s.Initial, InitialNone, InitialList)
	}
	if s.Initial == InitialList && len(s.Events) > 0 && !slices.Contains(s.Events, "ADDED") {
		wrong("initial", "%s is sent as ADDED, which events leaves out", InitialList)
	}
	if s.Workers > maxWorkers {
		wrong("workers", "%d, want 1 to %d", s.Workers, maxWorkers)
	}
	r := s.Retry
	for _, n := range []struct {
		key   string
		value int64
	}{
		{"workers", int64(s.Workers)}, {"queue.length", int64(s.Queue.Length)}, {"queue.bytes", s.Queue.Bytes},
		{"retry.initial", int64(r.Initial)}, {"retry.max", int64(r.Max)}, {"retry.tries", int64(r.Tries)},
		{"retry.age", int64(r.Age)},
	} {
		if n.value < 0 {
			wrong(n.key, "is negative, want 0 (the default) or more")
		}
	}
	if r.Max > 0 && r.Max < r.Initial {
		wrong("retry.max", "is less than retry.initial")
	}
	return append(errs, s.Target.check()...)
}

// check also asks the target's own Validate.
func (t Target) check() (errs []error) {
	kinds := 0
	for _, k := range []struct {
		key   string
		is    bool
		valid func() error
	}{
		{"webhook", t.isWebhook(), t.Webhook.Validate},
		{"nats", t.isNATS(), t.NATS.Validate},
		{"kafka", t.isKafka(), t.Kafka.Validate},
	} {
		if !k.is {
			continue
		}
		kinds++
		if err := k.valid(); err != nil {
			errs = append(errs, fmt.Errorf("target.%s.%w", k.key, err))
		}
	}
	if kinds != 1 {
		errs = append(errs, KeyError("target",
			"has %d targets, want one: webhook with a url, nats with servers, or kafka with brokers", kinds))
	}
	return errs
}

func (t Target) isWebhook() bool { return t.Webhook.URL != "" }
func (t Target) isNATS() bool    { return len(t.NATS.Servers) > 0 }
func (t Target) isKafka() bool   { return len(t.Kafka.Brokers) > 0 }
