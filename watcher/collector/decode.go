package collector

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/object"
)

// decoder turns bytes of the apiserver into items of one kind.
type decoder struct {
	kind   string // of keys
	recipe object.Recipe
	// listing is Settings.Listing; nil: nobody counts.
	listing func(kind string, bytes int)
	// known returns the cached version of an object, or nil. An object that has not
	// changed is not copied again, so that a relist needs no memory for it.
	known func(name) *object.Object
	// shard has the objects that count, nil: all do; passed is told of each other one.
	shard  *kubeapi.Shard
	passed func()
	// each, if set, gets the items of a list instead, unreadable ones with the reason. Its
	// arguments are valid until it returns.
	each func(b []byte, m *object.Meta, bad error) error
}

// scan reads the next object. JSON that cannot be decoded as one is skipped, and bad says why.
func scan(s *jsonscan.Scanner, b []byte) (m object.Meta, bad, err error) {
	start := *s
	if m, err = object.ScanAt(s, b); err == nil || errors.Is(err, jsonscan.ErrUnexpectedEnd) {
		return m, nil, err
	}
	*s, bad = start, err
	m.Whole, err = s.Value()
	return m, bad, err
}

// readable makes an item of what scan found, whether it could be decoded or not.
func (d *decoder) readable(b []byte, m *object.Meta, bad error) *item {
	if bad == nil {
		it, err := d.item(b, m)
		if err == nil {
			return it
		}
		bad = err
	}
	return newUnreadable(d.kind, m.Whole.Of(b), bad)
}

// item makes an item of the object that m describes in b. It copies what it needs.
func (d *decoder) item(b []byte, m *object.Meta) (*item, error) {
	it := &item{received: time.Now()}
	if v := m.Version(); v == 0 {
		it.version = strings.Clone(m.ResourceVersion)
	}
	prev := d.known(name{m.Namespace, m.Name})
	if prev != nil && prev.HasContent() && prev.UID == m.UID && prev.ResourceVersion != 0 &&
		prev.ResourceVersion == m.Version() {
		it.obj = prev
		return it, nil
	}
	obj, err := d.recipe.Build(b, m, d.kind, prev)
	var path *object.PathError
	switch {
	case err == nil:
		it.obj = obj
		if d.listing != nil {
			d.listing(d.kind, obj.Size())
		}
	case errors.As(err, &path):
		it.obj, it.problem = object.Tombstone(m, d.kind, prev), err
	default:
		return nil, err
	}
	return it, nil
}

// deleted makes an item of an object that is gone: only its identity counts.
func (d *decoder) deleted(m *object.Meta) (*item, error) {
	if m.Name == "" {
		return nil, object.ErrNoName
	}
	it := &item{received: time.Now(), obj: object.Tombstone(m, d.kind, d.known(name{m.Namespace, m.Name}))}
	if it.obj.ResourceVersion == 0 {
		it.version = strings.Clone(m.ResourceVersion)
	}
	return it, nil
}

// frame reads one frame of a watch: {"type":…,"object":…}.
func (d *decoder) frame(s *jsonscan.Scanner, b []byte) (watch.Event, error) {
	var (
		kind   string
		at     jsonscan.Range // the object
		meta   object.Meta
		bad    error
		parsed bool
	)
	err := s.Object(func(key jsonscan.Str) (err error) {
		switch {
		case key.Is(b, "type"):
			var str jsonscan.Str
			str, err = s.String()
			kind = str.Text(b)
		case key.Is(b, "object") && objectType(kind) != "":
			meta, bad, err = scan(s, b)
			at, parsed = meta.Whole, true
		case key.Is(b, "object"):
			at, err = s.Value()
		default:
			_, err = s.Value()
		}
		return err
	})
	switch {
	case err != nil:
		return watch.Event{}, err
	case at.Empty():
		return watch.Event{}, errors.New("watch frame without an object")
	case watch.EventType(kind) == watch.Error:
		return watch.Event{Type: watch.Error, Object: status(at.Of(b))}, nil
	case objectType(kind) == "":
		return watch.Event{}, fmt.Errorf("watch frame of unknown type %.20q", kind)
	}
	if !parsed { // the type came behind the object
		again := jsonscan.At(b, at.Start)
		if meta, bad, err = scan(&again, b); err != nil {
			return watch.Event{}, err
		}
	}
	return d.event(objectType(kind), b, &meta, bad)
}

// objectType is the type of a frame that carries an object of the kind, "" for any
// other. It does not point into the frame, which the event outlives.
func objectType(text string) watch.EventType {
	for _, t := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark} {
		if text == string(t) {
			return t
		}
	}
	return ""
}

// event makes the event of a frame. A deletion must be readable: otherwise only a list could
// show which object is gone.
func (d *decoder) event(kind watch.EventType, b []byte, m *object.Meta, bad error) (watch.Event, error) {
	var it *item
	var err error
	switch {
	case kind == watch.Bookmark:
		it, err = bookmark(b, m), bad
	case bad == nil && d.passes(m): // only its version counts
		kind, it = watch.Bookmark, &item{obj: &object.Object{}, version: strings.Clone(m.ResourceVersion)}
	case kind == watch.Deleted:
		if err = bad; err == nil {
			it, err = d.deleted(m)
		}
	default:
		it = d.readable(b, m, bad)
	}
	return watch.Event{Type: kind, Object: it}, err
}

// passes reports whether an object is of another shard.
func (d *decoder) passes(m *object.Meta) bool {
	if d.shard == nil || d.shard.Holds(m.Namespace, m.Name, m.UID) {
		return false
	}
	d.passed()
	return true
}

func bookmark(b []byte, m *object.Meta) *item {
	end := jsonscan.Lookup(m.Annotations.Of(b), metav1.InitialEventsAnnotationKey)
	return &item{obj: &object.Object{}, version: strings.Clone(m.ResourceVersion), initialEnd: string(end) == `"true"`}
}

// status decodes a Status, the object of an ERROR frame and of a failed request.
func status(b []byte) *metav1.Status {
	var st metav1.Status
	if err := json.Unmarshal(b, &st); err != nil || st.Kind != "Status" {
		return &apierrors.NewInternalError(errors.New("the apiserver reported an error other than a Status")).ErrStatus
	}
	return &st
}

// errNoList refuses an answer that is JSON and no list, such as a gateway's or a Status that comes with 200: as an
// empty list it would delete everything.
var errNoList = errors.New("the answer is not a list: want a kind and items")

// list reads a LIST answer, item by item.
func (d *decoder) list(f *buffer) (*itemList, error) {
	list := &itemList{}
	var more bool
	if err := f.parse(func(s *jsonscan.Scanner, _ []byte) (err error) {
		more, err = s.EnterObject()
		return err
	}); err != nil {
		return nil, err
	}
	for more {
		inItems := false
		err := f.parse(func(s *jsonscan.Scanner, b []byte) (err error) {
			inItems, more, err = d.listMember(s, b, list)
			return err
		})
		if err != nil {
			return nil, err
		}
		if !inItems {
			continue
		}
		if err := d.items(f, list, more); err != nil {
			return nil, err
		}
		if err := f.parse(func(s *jsonscan.Scanner, _ []byte) (err error) {
			more, err = s.NextMember()
			return err
		}); err != nil {
			return nil, err
		}
	}
	if list.Kind == "" || !list.hasItems {
		return nil, fmt.Errorf("%w, not the kind %.40q", errNoList, list.Kind)
	}
	return list, nil
}

// listMember passes one member of the list, or for items its opening bracket; more then says whether an item follows.
func (d *decoder) listMember(s *jsonscan.Scanner, b []byte, list *itemList) (inItems, more bool, err error) {
	key, err := s.Key()
	if err != nil {
		return false, false, err
	}
	if key.Is(b, "items") {
		list.hasItems = true
		c, err := s.Peek()
		if err != nil {
			return false, false, err
		}
		if c == '[' {
			more, err = s.EnterArray()
			return true, more, err
		}
	}
	v, err := s.Value()
	if err != nil {
		return false, false, err
	}
	if more, err = s.NextMember(); err != nil {
		return false, false, err
	}
	if key.Is(b, "metadata") {
		if err := json.Unmarshal(v.Of(b), &list.ListMeta); err != nil {
			return false, false, fmt.Errorf("metadata of the list: %w", err)
		}
	}
	if key.Is(b, "kind") {
		_ = json.Unmarshal(v.Of(b), &list.Kind) // only to distinguish a Table from a list
	}
	return false, more, nil
}

func (d *decoder) items(f *buffer, list *itemList, more bool) error {
	var it *item
	step := func(s *jsonscan.Scanner, b []byte) error {
		m, bad, err := scan(s, b)
		if err != nil {
			return err
		}
		if more, err = s.NextElement(); err != nil {
			return err
		}
		if it = nil; bad == nil && d.passes(&m) {
			return nil
		}
		if d.each != nil {
			return d.each(b, &m, bad)
		}
		it = d.readable(b, &m, bad)
		return nil
	}
	for more {
		if err := f.parse(step); err != nil {
			return err
		}
		if it == nil {
			continue
		}
		list.Items = append(list.Items, runtime.Object(it))
	}
	return nil
}
