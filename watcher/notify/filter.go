package notify

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
)

// filter selects the events of a subscription. It is for one goroutine.
type filter struct {
	names, namespaces []string        // none: all
	selector          labels.Selector // nil: all
	types             [view.Deleted + 1]bool
	path              []string // nil: any difference is one

	was, is []byte // buffers for unpacking
}

func newFilter(s Subscription) (*filter, error) {
	f := &filter{names: s.Names, namespaces: s.Namespaces}
	selector, err := labels.Parse(s.LabelSelector)
	if err != nil {
		return nil, err
	}
	if !selector.Empty() {
		f.selector = selector
	}
	for t := view.Added; t <= view.Deleted; t++ {
		f.types[t] = len(s.Events) == 0
	}
	for _, e := range s.Events {
		f.types[typeOf(e)] = true
	}
	f.path, err = parsePath(s.ChangedPath)
	return f, err
}

// typeOf is the type of that name, 0 if there is none.
func typeOf(name string) view.Type {
	for t := view.Added; t <= view.Deleted; t++ {
		if t.String() == name {
			return t
		}
	}
	return 0
}

func (f *filter) matches(o *object.Object) bool {
	among := func(all []string, name string) bool { return len(all) == 0 || slices.Contains(all, name) }
	if !among(f.names, o.Key.Name) || !among(f.namespaces, o.Key.Namespace) {
		return false
	}
	if f.selector == nil {
		return true
	}
	var raw []byte
	raw, f.is = o.Content(f.is)
	return f.selector.Matches(kubeapi.RawLabels(jsonscan.Lookup(raw, "metadata", "labels")))
}

// differs reports whether a modification is one for the subscription.
func (f *filter) differs(was, is *object.Object) bool {
	if f.path == nil {
		return true
	}
	var before, after []byte
	before, f.was = was.Content(f.was)
	after, f.is = is.Content(f.is)
	return !bytes.Equal(jsonscan.Lookup(before, f.path...), jsonscan.Lookup(after, f.path...))
}

// parsePath splits a path at its dots; one behind a backslash belongs to the key.
func parsePath(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	var path []string
	var key strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && (text[i+1] == '.' || text[i+1] == '\\'):
			i++
			key.WriteByte(text[i])
		case c == '\\':
			return nil, errors.New(`has a backslash before something else than a dot or another one`)
		case c == '.':
			path = append(path, key.String())
			key.Reset()
		case c == '[' || c == '*':
			return nil, errors.New("goes through keys only, want one such as status.phase")
		default:
			key.WriteByte(c)
		}
	}
	for _, k := range append(path, key.String()) {
		if k == "" {
			return nil, errors.New("has an empty key, want one such as status.phase")
		}
	}
	return append(path, key.String()), nil
}
