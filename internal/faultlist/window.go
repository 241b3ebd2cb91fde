package faultlist

import (
	"time"

	"github.com/watchbench/watchbench/internal/expr"
)

// Window is when a fault may fire: from so long after its beginning, for so long, and again every so often.
type Window struct {
	From, For, Every time.Duration // For 0 is forever, Every 0 is once
}

// readWindow takes a window from a fault's arguments.
func readWindow(r *expr.Reader) Window {
	w := Window{From: r.Duration("from", 0), For: r.Duration("for", 0), Every: r.Duration("every", 0)}
	if w.Every > 0 && (w.For == 0 || w.For >= w.Every) {
		r.Fail("every", "every=%s needs for, shorter than it", w.Every)
	}
	return w
}

// Phase is where a moment lies in a window.
type Phase struct {
	Open  bool
	Began time.Time // of the present opening, or of the first
	Edge  time.Time // when Open changes next; zero is never
}

// At finds a moment's phase in a window whose times count from begin.
func (w Window) At(begin, now time.Time) Phase {
	began := begin.Add(w.From)
	since := now.Sub(began)
	switch {
	case since < 0:
		return Phase{Began: began, Edge: began}
	case w.For == 0:
		return Phase{Open: true, Began: began}
	case w.Every > 0:
		began = began.Add(since - since%w.Every)
		if since%w.Every >= w.For {
			return Phase{Began: began, Edge: began.Add(w.Every)}
		}
		return Phase{Open: true, Began: began, Edge: began.Add(w.For)}
	case since >= w.For:
		return Phase{Began: began}
	}
	return Phase{Open: true, Began: began, Edge: began.Add(w.For)}
}
