package apisim_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

func happened() []Event {
	return []Event{
		{Type: Added, Key: "a/p", UID: "u1", Version: 11}, {Type: Added, Key: "a/q", UID: "u2", Version: 12}, {Type: Modified, Key: "a/p", UID: "u1", Version: 14},
		{Type: Deleted, Key: "a/p", UID: "u1", Version: 17}, {Type: Added, Key: "a/p", UID: "u3", Version: 18}, {Type: Modified, Key: "a/q", UID: "u2", Version: 20},
	}
}

func mark(version uint64) Event { return Event{Type: Bookmark, Version: version} }

// TestMutatedWatches: a good watch passes, and each way of breaking a promise is that
// promise's error.
func TestMutatedWatches(t *testing.T) {
	all := happened()
	good := slices.Concat(all[:3], []Event{mark(15)}, all[3:5], []Event{mark(18)}, all[5:], []Event{mark(30)})
	if err := Watch(10, all, good); err != nil {
		t.Fatal(err)
	}
	if err := Watch(14, all, good[4:]); err != nil {
		t.Fatal(err)
	}
	swap := func(i, j int) []Event {
		m := slices.Clone(good)
		m[i], m[j] = m[j], m[i]
		return m
	}
	change := func(i int, f func(*Event)) []Event {
		m := slices.Clone(good)
		f(&m[i])
		return m
	}
	for name, tc := range map[string]struct {
		came []Event
		want error
	}{
		"swapped":                 {[]Event{good[0], good[2], good[1]}, ErrReliable}, // the gap is seen first
		"older version":           {append(slices.Clone(good[:8]), Event{Type: Modified, Key: "b/x", Version: 19}), ErrOrdered},
		"twice in a row":          {slices.Insert(slices.Clone(good), 1, good[0]), ErrUnique},
		"again later":             {slices.Insert(slices.Clone(good), 8, good[5]), ErrUnique},
		"left out":                {slices.Delete(slices.Clone(good), 1, 2), ErrReliable},
		"left out at the end":     {good[:7], ErrReliable},
		"other type":              {change(2, func(e *Event) { e.Type = Added }), ErrReliable},
		"other uid":               {change(5, func(e *Event) { e.UID = "u1" }), ErrReliable},
		"never happened":          {append(slices.Clone(good), Event{Type: Added, Key: "a/z", Version: 31}), ErrReliable},
		"bookmark too early":      {change(3, func(e *Event) { e.Version = 17 }), ErrBookmarkable},
		"bookmark goes back":      {change(3, func(e *Event) { e.Version = 13 }), ErrBookmarkable},
		"event after its mark":    {append(slices.Clone(good), Event{Type: Added, Key: "a/z", Version: 30}), ErrBookmarkable},
		"bookmark before its end": {swap(5, 6), ErrBookmarkable},
	} {
		if err := Watch(10, all, tc.came); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
	// Without anything left out, only the order is wrong.
	c := New(10, []Event{{Type: Added, Key: "a/q", Version: 12}, {Type: Added, Key: "a/p", Version: 11}})
	if err := errors.Join(c.Observe(Event{Type: Added, Key: "a/q", Version: 12}), c.Observe(Event{Type: Added, Key: "a/p", Version: 11})); !errors.Is(err, ErrOrdered) {
		t.Error(err)
	}
}

func TestMutatedStreams(t *testing.T) {
	all := happened()
	end := Event{Type: Bookmark, Version: 14, End: true}
	first := []Event{{Type: Added, Key: "a/q", UID: "u2", Version: 12}, {Type: Added, Key: "a/p", UID: "u1", Version: 14}, end}
	good := slices.Concat(first, all[3:])
	if err := Stream(all, good); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		came []Event
		want error
	}{
		"no end":         {first[:2], ErrReliable},
		"object missing": {slices.Delete(slices.Clone(good), 0, 1), ErrReliable},
		"object twice":   {slices.Insert(slices.Clone(good), 1, good[0]), ErrUnique},
		"old state":      {slices.Concat([]Event{first[0], all[0], end}, all[3:]), ErrReliable},
		"not there":      {slices.Concat([]Event{{Type: Added, Key: "a/z", Version: 3}}, good), ErrReliable},
		"change first":   {slices.Insert(slices.Clone(good), 2, all[3]), ErrBookmarkable},
		"initial later":  {append(slices.Clone(good[:3]), good[1]), ErrUnique},
	} {
		if err := Stream(all, tc.came); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}

func TestResumed(t *testing.T) {
	all := happened()
	if err := Resumed(14, all, all[3:]); err != nil {
		t.Fatal(err)
	}
	for name, came := range map[string][]Event{"one too few": all[4:], "one too many": all[2:], "nothing": nil} {
		if err := Resumed(14, all, came); !errors.Is(err, ErrResumable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParse(t *testing.T) {
	e, err := Parse([]byte(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}}`))
	if err != nil || e != (Event{Type: Bookmark, Version: 7, End: true}) {
		t.Errorf("%+v %v", e, err)
	}
	for _, line := range []string{``, `{}`, `{"type":"ADDED","object":{}}`, `{"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":"-1"}}}`, `{"type":"ERROR","object":{"message":"gone"}}`} {
		if _, err := Parse([]byte(line)); !errors.Is(err, ErrFrame) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"type":"ADDED","object":{"metadata":{"namespace":"a","name":"p","uid":"u","resourceVersion":"5"}}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := Parse(line)
		if (err == nil) == (e.Type == "") || err != nil && !errors.Is(err, ErrFrame) {
			t.Fatal(fmt.Sprint(e, err))
		}
	})
}
