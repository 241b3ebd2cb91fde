package alert

import (
	"fmt"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
)

// Alert is one warning about one Pod.
type Alert struct {
	OwnerUID  string // of the Pod's first owner
	Namespace string
	Pod       string
	Reason    string
	Message   string
	At        time.Time
}

// text is how the alert reads in every message.
func (a Alert) text() string { return fmt.Sprintf("[Pod %s]%s:%s", a.Pod, a.Reason, a.Message) }

// sameAs identifies a warning: the same reason on the same Pod.
type sameAs struct{ owner, namespace, pod, reason string }

func (a Alert) key() sameAs { return sameAs{a.OwnerUID, a.Namespace, a.Pod, a.Reason} }

// Pods finds a Pod in the watcher's cache.
type Pods interface {
	Get(object.Key) (*object.Object, bool)
}

// fromEvent makes the alert of a Kubernetes Event; ok is false for one that is
// none: not a Warning, not about a Pod, a Pod not cached or without an owner.
func fromEvent(o *object.Object, pods Pods) (a Alert, ok bool, err error) {
	ev, err := object.ParseEvent(o.JSON())
	if err != nil {
		return a, false, err
	}
	if ev.Type != "Warning" || ev.InvolvedObject.Kind != "Pod" {
		return a, false, nil
	}
	pod, found := pods.Get(object.Key{Kind: "Pod", Namespace: ev.InvolvedObject.Namespace, Name: ev.InvolvedObject.Name})
	if !found {
		return a, false, nil
	}
	owners, err := object.Owners(pod.JSON())
	if err != nil || len(owners) == 0 {
		return a, false, err
	}
	return Alert{
		OwnerUID: owners[0].UID, Namespace: ev.InvolvedObject.Namespace, Pod: ev.InvolvedObject.Name,
		Reason: ev.Reason, Message: ev.Message, At: ev.When(ev.LastTimestamp, ev.EventTime),
	}, true, nil
}
