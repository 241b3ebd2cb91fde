package collector

import (
	"slices"
	"strings"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// Reasons for which a received event is not handed to the Sink, the values of the label reason.
const (
	ReasonUnchanged   = "unchanged"      // the version is in the store already
	ReasonStale       = "stale"          // older than what the store holds
	ReasonHeartbeat   = "node-heartbeat" // a Node that only says it is alive
	ReasonEventDelete = "event-delete"   // Events are never deleted in storage
	ReasonSystemEvent = "system-event"   // Events of kube-system without a known prefix
	ReasonNamespace   = "namespace"      // in IgnoreNamespaces
	ReasonName        = "name"           // in IgnoreNames
	ReasonUnmaskable  = "unmaskable"     // a mask could not be applied
	ReasonFirstList   = "first-list"     // compared with storage first
	ReasonUnreadable  = "unreadable"     // cannot be decoded, or would delete what is there and cannot be
	ReasonShard       = "shard"          // of another shard
	systemNamespace   = "kube-system"
	kindEvent         = "Event"
	kindNode          = "Node"
	reasonNone        = ""
)

var reasons = []string{
	ReasonUnchanged, ReasonStale, ReasonHeartbeat, ReasonEventDelete, ReasonSystemEvent,
	ReasonNamespace, ReasonName, ReasonUnmaskable, ReasonFirstList, ReasonUnreadable,
	ReasonShard,
}

// systemEventPrefixes are the names of kube-system Events that are kept (contract §2.3).
var systemEventPrefixes = []string{"kube-", "kubedns-", "nginx-proxy", "bcs-"}

// filter holds the rules of contract §2.3, in their order.
type filter struct{ namespaces, names []string }

// reason is why the event, of an object of r, is not for storage, or reasonNone.
func (f filter) reason(action pipeline.Action, r Resource, key object.Key) string {
	if r.isEvent() {
		if action == pipeline.Delete {
			return ReasonEventDelete
		}
		if key.Namespace == systemNamespace {
			for _, prefix := range systemEventPrefixes {
				if strings.HasPrefix(key.Name, prefix) {
					return reasonNone
				}
			}
			return ReasonSystemEvent
		}
	}
	switch {
	case key.Namespace != "" && slices.Contains(f.namespaces, key.Namespace):
		return ReasonNamespace
	case slices.Contains(f.names, key.Name):
		return ReasonName
	}
	return reasonNone
}
