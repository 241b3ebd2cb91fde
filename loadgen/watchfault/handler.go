package watchfault

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/watchbench/watchbench/internal/faultlist"
	"github.com/watchbench/watchbench/internal/kubeapi"
)

// Wrap puts the faults before a handler. The result has a method Refusing.
func (in *Injector) Wrap(next http.Handler) http.Handler { return &handler{in, next} }

type handler struct {
	*Injector
	next http.Handler
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req := classify(r)
	watching := req.verb == Watch || req.verb == Stream
	if !watching && !h.Any() {
		h.next.ServeHTTP(w, r)
		return
	}
	if h.Refusing() {
		abort(w)
		return
	}
	n := h.ordinal(req)
	if watching {
		r = r.Clone(r.Context())
		preferJSON(r.Header)
	}
	a := h.pick(req, n)
	if a != nil && a.Spec.Effect != Older && h.answer(w, r, req, a) {
		return
	}
	if courses, _ := h.snapshot(perWatch, req); !watching && len(courses) == 0 {
		h.next.ServeHTTP(w, r) // as it is: it may want more than exchange offers
		return
	}
	x := h.exchange(r.Context(), w, req, n)
	if a != nil && a.Spec.Effect == Older {
		x.older = a
	}
	x.pass(h.next, r)
}

// pick draws the fault that answers the request, and counts it. Older is counted when it has been found possible.
func (in *Injector) pick(req request, n uint64) *active {
	all, _ := in.snapshot(perRequest, req)
	for _, a := range all {
		if in.Phase(a, time.Now()).Open && in.hits(a, req.verb+req.path, n) &&
			(a.Spec.Effect == Older || in.fire(a, req.path)) {
			return a
		}
	}
	return nil
}

// answer applies a fault to a request, and reports whether that is all of the answer.
func (h *handler) answer(w http.ResponseWriter, r *http.Request, req request, a *active) (over bool) {
	switch a.Spec.Effect {
	case Stall:
		return !h.wait(r.Context(), a, a.Spec.Delay)
	case BlackHole:
		h.wait(r.Context(), a, 0)
		abort(w)
	case NoStream:
		kubeapi.WriteStatus(w, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "",
			field.ErrorList{field.Forbidden(field.NewPath("sendInitialEvents"),
				"sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")}))
	case StartGone:
		text, _ := kubeapi.StatusJSON(tooOld(r.URL.Query().Get("resourceVersion")))
		w.Header().Set("Content-Type", kubeapi.StatusType)
		_, _ = w.Write(kubeapi.AppendEvent(nil, "ERROR", text))
	default:
		kubeapi.WriteStatus(w, statusError(a.Spec.Status, a.Spec.RetryAfter, req))
	}
	return true
}

func tooOld(version string) error {
	return apierrors.NewResourceExpired("too old resource version: " + version)
}

func statusError(status int, retryAfter time.Duration, req request) error {
	seconds := int(retryAfter / time.Second)
	if status == http.StatusGone {
		return tooOld("")
	}
	of := schema.GroupResource{Resource: req.resource}
	err := apierrors.NewGenericServerResponse(status, req.verb, of, "", "", seconds, false)
	if status == http.StatusTooManyRequests {
		err = apierrors.NewTooManyRequests("too many requests, please try again later", seconds)
	}
	err.ErrStatus.Details.RetryAfterSeconds = int32(seconds)
	return err
}

// wait blocks for d, without a limit if d is 0, or until the fault is removed. It reports whether the client is still
// there.
func (in *Injector) wait(ctx context.Context, a *active, d time.Duration) bool {
	var timeout <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		timeout = t.C
	}
	for {
		removed, changed := in.Removed(a)
		if removed {
			return true
		}
		select {
		case <-timeout:
			return true
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

func (x *exchange) pass(next http.Handler, r *http.Request) {
	defer x.cancel()
	if x.step(time.Now()); !x.over() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			x.supervise()
		}()
		func() {
			defer func() { x.cancel(); <-done }()
			x.serve(next, r.WithContext(x.ctx))
			x.finish()
		}()
	}
	switch {
	case x.ended == endReset:
		abort(x.w)
	case x.ended == endClose && !x.begun:
		x.w.Header().Set("Content-Type", kubeapi.StatusType)
	}
}

// serve runs the handler behind. One that gives up because the exchange was ended has done nothing wrong.
func (x *exchange) serve(next http.Handler, r *http.Request) {
	defer func() {
		if p := recover(); p != nil {
			if e, ok := p.(error); !ok || !errors.Is(e, http.ErrAbortHandler) || !x.over() {
				panic(p)
			}
		}
	}()
	if x.older != nil {
		r = x.goBack(next, r, x.older)
	}
	next.ServeHTTP(x, r)
}

func abort(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	faultlist.Reset(conn)
}

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }
