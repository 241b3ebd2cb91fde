package shape

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// slot is a place of a text that is filled for each object.
type slot int

const (
	slotName slot = iota
	slotNamespace
	slotNode
	slotUID
	slotOwnerUID
	slotOwnerName
	slotApp
	slotHash
	slotIP
	slotHostIP
	slotZone
	slotContainer
	slotTag
	slotOp
	slotIntended
	slotCreated
	slotNow
	slotDeleted
	slotWas
	slotRestarts
	slotBackOff
	slotVersion
	slotManaged
	slotCount
)

// slotMarks mark the slots in samples. None is a part of another, or of
// anything that a template has.
var slotMarks = [slotCount]string{
	slotName: "zq0name", slotNamespace: "zq0ns", slotNode: "zq0node", slotUID: "zq0uid", slotOwnerUID: "zq0owneruid",
	slotOwnerName: "zq0ownername", slotApp: "zq0app", slotHash: "zq0hash", slotIP: "zq0ip", slotHostIP: "zq0hostip",
	slotZone:      "zq0zone",
	slotContainer: "zq0container", slotTag: "zq0tag", slotOp: "zq0op", slotIntended: "zq0intended",
	slotCreated: "1901-01-01T00:00:01Z", slotNow: "1901-01-01T00:00:02Z", slotDeleted: "1901-01-01T00:00:03Z",
	slotWas:      "1901-01-01T00:00:04Z",
	slotRestarts: "1987654321", slotBackOff: "zq0backoff", slotVersion: "zq0version", slotManaged: "zq0managed",
}

func sampleAt(second int) metav1.Time {
	return metav1.NewTime(time.Date(1901, 1, 1, 0, 0, second, 0, time.UTC))
}

// slots makes a sample of facts: each fact that has a slot is its mark.
func (f *facts) slots() {
	text := func(s *string, of slot) {
		if *s != "" {
			*s = slotMarks[of]
		}
	}
	text(&f.name, slotName)
	text(&f.namespace, slotNamespace)
	text(&f.node, slotNode)
	f.uid = types.UID(slotMarks[slotUID])
	if f.ownerName != "" {
		f.ownerUID = types.UID(slotMarks[slotOwnerUID])
	}
	text(&f.ownerName, slotOwnerName)
	text(&f.app, slotApp)
	text(&f.hash, slotHash)
	text(&f.ip, slotIP)
	text(&f.hostIP, slotHostIP)
	text(&f.zone, slotZone)
	text(&f.container, slotContainer)
	text(&f.tag, slotTag)
	text(&f.op, slotOp)
	text(&f.intended, slotIntended)
	text(&f.backOff, slotBackOff)
	f.created, f.now, f.deleted, f.was = sampleAt(1), sampleAt(2), sampleAt(3), sampleAt(4)
	if f.state.Restarts > 0 {
		f.state.Restarts = 1987654321
	}
}

// append fills a slot.
func (f *facts) append(b []byte, s slot) []byte {
	at := func(t metav1.Time) []byte { return t.UTC().AppendFormat(b, time.RFC3339) }
	switch s {
	case slotName:
		return append(b, f.name...)
	case slotNamespace:
		return append(b, f.namespace...)
	case slotNode:
		return append(b, f.node...)
	case slotUID:
		return append(b, f.uid...)
	case slotOwnerUID:
		return append(b, f.ownerUID...)
	case slotOwnerName:
		return append(b, f.ownerName...)
	case slotApp:
		return append(b, f.app...)
	case slotHash:
		return append(b, f.hash...)
	case slotIP:
		return append(b, f.ip...)
	case slotHostIP:
		return append(b, f.hostIP...)
	case slotZone:
		return append(b, f.zone...)
	case slotContainer:
		return append(b, f.container...)
	case slotTag:
		return append(b, f.tag...)
	case slotOp:
		return append(b, f.op...)
	case slotIntended:
		return append(b, f.intended...)
	case slotCreated:
		return at(f.created)
	case slotNow:
		return at(f.now)
	case slotDeleted:
		return at(f.deleted)
	case slotWas:
		return at(f.was)
	case slotRestarts:
		return strconv.AppendInt(b, int64(f.state.Restarts), 10)
	case slotBackOff:
		return append(b, f.backOff...)
	default:
		return append(b, f.resourceVersion...)
	}
}
