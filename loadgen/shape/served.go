package shape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// life is the state that Served keeps for a live target.
type life struct {
	template *template
	own      *ownership
	placed   place
	former   plan.Op // the last that wrote the object
	state    plan.State
	wanted   int32
	tag      string

	op, intended     string
	created, deleted metav1.Time
	now, was         metav1.Time // of the last write of content or status; of a binding both
	generation       int64
	observed         int64
	times            []entryTime
}

type entryTime struct {
	manager, subresource string
	at                   time.Time
}

// Served is the JSON of op's object as served after op, under resourceVersion rv. A target's operations come in order,
// from its creation; after its last nothing of it is kept.
func (m *Maker) Served(op plan.Op, refs Refs, rv uint64, intended time.Time) []byte {
	l := m.life(op.Target)
	b := m.serve(l, op, refs, rv, intended)
	if op.Last {
		m.forget(op.Target, l)
	}
	return b
}

func (m *Maker) life(t *plan.Target) *life {
	m.mu.Lock()
	l := m.lives[t]
	m.mu.Unlock()
	if l != nil {
		return l
	}
	tp := m.template(t, true)
	l = &life{template: tp, own: tp.root}
	m.mu.Lock()
	m.lives[t] = l
	m.mu.Unlock()
	return l
}

func (m *Maker) forget(t *plan.Target, l *life) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.lives, t)
	if l.template.refs--; l.template.refs == 0 {
		delete(m.templates, keyOf(t))
	}
}

func (m *Maker) serve(l *life, op plan.Op, refs Refs, rv uint64, intended time.Time) []byte {
	f := m.facts(op, refs, intended)
	before, written := *l, f.now.Time
	l.advance(op, &f)
	l.own = m.own(l, &before, op, &f, written)
	f.resourceVersion = strconv.FormatUint(rv, 10)
	if !l.own.object.empty() {
		return l.own.object.append(make([]byte, 0, 16<<10), func(b []byte, s slot) []byte {
			if slots[s].mark == managedMark {
				return l.managed(b, &f)
			}
			return f.append(b, s)
		})
	}
	obj := m.object(op, l.template, refs, &f, viewServed)
	return l.render(op.Target.Kind, obj, &f)
}

// advance fills f with what the life knows, and the life with what op changes.
func (l *life) advance(op plan.Op, f *facts) {
	l.placed = f.place(op, l.placed)
	switch w := how(op); {
	case w == howCreate:
		*l = life{template: l.template, own: l.template.root, placed: l.placed, created: f.created, generation: 1,
			wanted: f.wanted, tag: f.tag, state: f.state}
	case w == howStatus:
		if op.State != nil {
			l.state = *op.State
		}
	case op.Type == oplog.TypeScale:
		l.generation++
		l.wanted, l.tag, l.state.Template = f.wanted, f.tag, f.state.Template
	case w == howUpdate || w == howPatch && op.Type != oplog.TypeUnfinalized:
		if op.State != nil {
			l.state = *op.State
		}
		if op.Target.Kind == KindEndpointSlice || op.Target.Kind == KindWidget {
			l.generation++
		}
	}
	switch how(op) {
	case howBind:
		l.now, l.was = f.now, f.now
	case howCreate, howStatus, howUpdate:
		l.now, l.was, l.observed = f.now, f.was, f.observed
	case howPatch:
		if op.Type != oplog.TypeScale && op.Type != oplog.TypeUnfinalized {
			l.now, l.was, l.observed = f.now, f.was, f.observed
		}
	}
	f.now, f.was, f.observed = l.now, l.was, l.observed
	if op.Type == oplog.TypeTerminate {
		l.deleted = f.deleted
	}
	if w := how(op); w != howDelete {
		l.op, l.intended = f.op, f.intended
	}
	f.op, f.intended, f.created, f.deleted, f.generation = l.op, l.intended, l.created, l.deleted, l.generation
	f.started = l.created
	f.state, f.wanted, f.tag = l.state, l.wanted, l.tag
	f.backOff = backOff(f.state.Restarts)
}

// own is the ownership after op, computed at the first object of its structure.
func (m *Maker) own(l, before *life, op plan.Op, f *facts, written time.Time) *ownership {
	w := how(op)
	key := stepOf(op, f)
	at := before.own
	if w == howCreate {
		at = l.own
	}
	if w != howDelete && w != howBind {
		l.touch(manager(op), subresource(op), written)
	}
	m.trees.Lock()
	next := at.next[key]
	m.trees.Unlock()
	if next == nil {
		next = m.step(before, op, f)
		m.trees.Lock()
		if at.next == nil {
			at.next = map[step]*ownership{}
		}
		at.next[key] = next
		m.trees.Unlock()
	}
	if w != howDelete {
		l.former = op
	}
	return next
}

func subresource(op plan.Op) string {
	if how(op) == howStatus {
		return "status"
	}
	return ""
}

// step computes what own keeps, of the life before op. All facts are samples, so that the texts have their slots.
func (m *Maker) step(l *life, op plan.Op, f *facts) *ownership {
	var next *ownership
	sample := *f
	sample.slots()
	own := l.own
	if w := how(op); w == howDelete || w == howBind {
		next = &ownership{fields: own.fields, texts: own.texts}
	} else {
		var former Object
		if w != howCreate {
			before := sample
			before.placed, before.state, before.wanted = l.placed, l.state, l.wanted
			before.nowMicro = metav1.NewMicroTime(before.nowMicro.Add(-time.Hour))
			before.op, before.intended = "1", "1"
			before.now, before.was = metav1.NewTime(before.now.Add(-time.Hour)), metav1.NewTime(before.was.Add(-time.Hour))
			former = m.object(l.former, l.template, sampleRefs{}, &before, viewServed)
		}
		v := viewSent
		switch w {
		case howStatus:
			v = viewStatus
		case howPatch:
			v = viewServed
		}
		sent := m.object(op, l.template, sampleRefs{}, &sample, v)
		var err error
		if w == howCreate {
			own = &ownership{}
		}
		if next, err = own.write(op.Target.Kind, manager(op), subresource(op), former, sent); err != nil {
			panic(fmt.Sprintf("shape: %v", err)) // the objects are our own, of known types
		}
	}
	if op.Target.Kind == KindPod {
		next.object = cut(marked(op.Target.Kind, m.object(op, l.template, sampleRefs{}, &sample, viewServed),
			versionMark))
	}
	return next
}

func (l *life) touch(manager, subresource string, at time.Time) {
	for i := range l.times {
		if t := &l.times[i]; t.manager == manager && t.subresource == subresource {
			t.at = at
			return
		}
	}
	l.times = append(l.times, entryTime{manager, subresource, at})
}

// marked is the JSON of an object with a mark where its managedFields belong.
func marked(kind string, obj Object, rv string) []byte {
	obj.GetObjectKind().SetGroupVersionKind(kinds[kind].gvk())
	obj.SetResourceVersion(rv)
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: managedMark}})
	b, err := json.Marshal(obj)
	if err != nil {
		panic(fmt.Sprintf("shape: %v", err)) // the objects are our own, of known types
	}
	return bytes.Replace(bytes.TrimSuffix(b, []byte{'\n'}), []byte(`[{"manager":"`+managedMark+`"}]`), []byte(managedMark),
		1)
}

// render is for objects whose text is not kept.
func (l *life) render(kind string, obj Object, f *facts) []byte {
	b := marked(kind, obj, f.resourceVersion)
	mark := managedMark
	at := bytes.Index(b, []byte(mark))
	out := make([]byte, 0, len(b)+4096)
	out = l.managed(append(out, b[:at]...), f)
	return append(out, b[at+len(mark):]...)
}

// managed appends managedFields in the order in which an apiserver serves them.
func (l *life) managed(b []byte, f *facts) []byte {
	order := make([]int, len(l.own.texts), 8)
	at := make([]time.Time, len(order), 8)
	for i := range order {
		order[i] = i
		for _, t := range l.times {
			if e := &l.own.texts[i]; t.manager == e.manager && t.subresource == e.subresource {
				at[i] = t.at
			}
		}
	}
	slices.SortFunc(order, func(i, j int) int {
		if c := at[i].Compare(at[j]); c != 0 {
			return c
		}
		a, b := &l.own.texts[i], &l.own.texts[j]
		if c := strings.Compare(a.manager, b.manager); c != 0 {
			return c
		}
		return strings.Compare(a.subresource, b.subresource)
	})
	b = append(b, '[')
	for n, i := range order {
		e := &l.own.texts[i]
		if n > 0 {
			b = append(b, ',')
		}
		b = append(append(b, `{"manager":"`...), e.manager...)
		b = append(append(b, `","operation":"Update","apiVersion":"`...), e.apiVersion...)
		b = at[i].AppendFormat(append(b, `","time":"`...), time.RFC3339)
		b = e.fields.append(append(b, `","fieldsType":"FieldsV1","fieldsV1":`...), f.append)
		if e.subresource != "" {
			b = append(append(append(b, `,"subresource":"`...), e.subresource...), '"')
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

type sampleRefs struct{}

func (sampleRefs) UID(*plan.Target) types.UID { return sampleUID }

const sampleUID = "11111111-2222-4333-8444-555555555555"

var sampleTime = time.Date(2001, 2, 3, 4, 5, 6, 123456000, time.UTC)
