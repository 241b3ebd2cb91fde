package shape

import (
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// slot is a place of a text that is filled for each object: an index of slots.
type slot int

// text, uid and date say which fact fills a slot; what has none is filled by its user.
type filled struct {
	mark string
	text func(*facts) *string
	uid  func(*facts) *types.UID
	date func(*facts) *metav1.Time
}

const (
	restartsMark = "1987654321"
	versionMark  = "zq0version"
	managedMark  = "zq0managed"
)

// slots are marked in samples. No mark is a part of another, or of anything that a template has.
var slots = [...]filled{
	{mark: "zq0name", text: func(f *facts) *string { return &f.name }},
	{mark: "zq0ns", text: func(f *facts) *string { return &f.namespace }},
	{mark: "zq0node", text: func(f *facts) *string { return &f.node }},
	{mark: "zq0uid", uid: func(f *facts) *types.UID { return &f.uid }},
	{mark: "zq0owneruid", uid: func(f *facts) *types.UID { return &f.ownerUID }},
	{mark: "zq0ownername", text: func(f *facts) *string { return &f.ownerName }},
	{mark: "zq0app", text: func(f *facts) *string { return &f.app }},
	{mark: "zq0hash", text: func(f *facts) *string { return &f.hash }},
	{mark: "zq0ip", text: func(f *facts) *string { return &f.ip }},
	{mark: "zq0hostip", text: func(f *facts) *string { return &f.hostIP }},
	{mark: "zq0zone", text: func(f *facts) *string { return &f.zone }},
	{mark: "zq0container", text: func(f *facts) *string { return &f.container }},
	{mark: "zq0tag", text: func(f *facts) *string { return &f.tag }},
	{mark: "zq0op", text: func(f *facts) *string { return &f.op }},
	{mark: "zq0intended", text: func(f *facts) *string { return &f.intended }},
	{mark: "zq0backoff", text: func(f *facts) *string { return &f.backOff }},
	{mark: "1901-01-01T00:00:01Z", date: func(f *facts) *metav1.Time { return &f.created }},
	{mark: "1901-01-01T00:00:02Z", date: func(f *facts) *metav1.Time { return &f.now }},
	{mark: "1901-01-01T00:00:03Z", date: func(f *facts) *metav1.Time { return &f.deleted }},
	{mark: "1901-01-01T00:00:04Z", date: func(f *facts) *metav1.Time { return &f.was }},
	{mark: restartsMark}, {mark: versionMark}, {mark: managedMark},
}

// slots makes a sample of facts: each fact that has a slot is its mark.
func (f *facts) slots() {
	for _, s := range slots {
		switch {
		case s.text != nil:
			if t := s.text(f); *t != "" {
				*t = s.mark
			}
		case s.uid != nil:
			*s.uid(f) = types.UID(s.mark)
		case s.date != nil:
			at, err := time.Parse(time.RFC3339, s.mark)
			if err != nil {
				panic("shape: " + err.Error()) // a constant's mistake
			}
			*s.date(f) = metav1.NewTime(at)
		}
	}
	if f.ownerName == "" {
		f.ownerUID = ""
	}
	if f.state.Restarts > 0 {
		f.state.Restarts, _ = strconv.Atoi(restartsMark)
	}
}

func (f *facts) append(b []byte, i slot) []byte {
	switch s := &slots[i]; {
	case s.text != nil:
		return append(b, *s.text(f)...)
	case s.uid != nil:
		return append(b, *s.uid(f)...)
	case s.date != nil:
		return s.date(f).UTC().AppendFormat(b, time.RFC3339)
	case s.mark == restartsMark:
		return strconv.AppendInt(b, int64(f.state.Restarts), 10)
	default:
		return append(b, f.resourceVersion...)
	}
}

// text is JSON with slots in it for what each object has of its own.
type text struct {
	parts [][]byte // one more than slots
	slots []slot
}

func cut(sample []byte) text {
	var t text
	rest := string(sample)
	for {
		at, found := len(rest), slot(-1)
		for i := range slots {
			if j := strings.Index(rest[:at], slots[i].mark); j >= 0 {
				at, found = j, slot(i)
			}
		}
		if found < 0 {
			t.parts = append(t.parts, []byte(rest))
			return t
		}
		t.parts, t.slots = append(t.parts, []byte(rest[:at])), append(t.slots, found)
		rest = rest[at+len(slots[found].mark):]
	}
}

func (t *text) empty() bool { return len(t.parts) == 0 }

func (t *text) append(b []byte, fill func([]byte, slot) []byte) []byte {
	for i, s := range t.slots {
		b = fill(append(b, t.parts[i]...), s)
	}
	return append(b, t.parts[len(t.parts)-1]...)
}
