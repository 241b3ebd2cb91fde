package storagemock

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/storagemock/ledger"
	"github.com/watchbench/watchbench/storagemock/store"
)

// call is one parsed request that has not been applied yet.
type call struct {
	route
	*exchange
	instance int

	put   store.Object       // from a PUT with {"data": …}
	event bcsapi.EventRecord // from a PUT of an event
	// fault names the fault that hit the call, for its ledger entries.
	fault string
	// refused is set if the request itself is invalid: applying then only records it.
	refused *reply
}

// write reports whether the call is recorded in the ledger.
func (c *call) write() bool { return c.method == "PUT" || c.method == "DELETE" }

// failCode is the result code for failures of this kind of request.
func (c *call) failCode() bcsapi.Code {
	switch {
	case c.method == "PUT" && c.endpoint == watchObject:
		return bcsapi.CodeUnmarshal
	case c.method == "PUT":
		return bcsapi.CodePut
	case c.method == "DELETE":
		return bcsapi.CodeDelete
	case c.endpoint == oneObject:
		return bcsapi.CodeGet
	}
	return bcsapi.CodeList
}

// newCall parses a request. If ok is false, the path or the method is unknown, and the returned reply is sent without
// latency and without a ledger entry.
func newCall(x *exchange, instance int) (c call, answer reply, ok bool) {
	c = call{route: parseRoute(x.path), exchange: x, instance: instance}
	if c.endpoint == unknownPath {
		return c, plain(404, "404: Page Not Found"), false
	}
	if !slices.Contains(allowed[c.endpoint], c.method) {
		return c, plain(405, "405: Method Not Allowed"), false
	}
	if c.method == "PUT" {
		c.parseBody()
	}
	return c, reply{}, true
}

// parseBody parses the body of a PUT.
func (c *call) parseBody() {
	var err error
	switch c.endpoint {
	case events:
		err = c.parseEvent()
	case watchObject:
		if c.put, err = parsePut(c.body); err == nil && !jsonscan.IsObject(c.put.Data) {
			err = errors.New("data is not an object")
		}
	default:
		c.put, err = parsePut(c.body)
	}
	if err != nil {
		r := failure(200, c.failCode(), "the request's body: "+err.Error(), false)
		c.refused = &r
	}
}

// apply executes the call: it changes or reads the state, and records writes in the ledger.
func (s *Server) apply(c *call, now time.Time) reply {
	if c.refused != nil {
		r := *c.refused
		s.reject(c, &r)
		return r
	}
	switch {
	case c.method == "PUT":
		return s.applyPut(c, now)
	case c.method == "DELETE":
		return s.applyDelete(c, now)
	case c.endpoint == events:
		return s.listEvents(c)
	case c.endpoint == objectList:
		return s.listObjects(c)
	}
	return s.getObject(c)
}

func (s *Server) applyPut(c *call, now time.Time) reply {
	r := reply{status: 200, body: done}
	commit := func(ch store.Change) {
		if ch.Refusal != "" {
			r = failure(409, bcsapi.CodePut, "precondition failed: "+ch.Refusal, false)
			s.record(c, &r, ch, time.Time{})
			return
		}
		s.record(c, &r, ch, now)
	}
	if c.endpoint == events {
		s.store.PutEvent(c.event, now, commit)
		return r
	}
	obj := c.put
	if obj.Data == nil {
		obj.Data = []byte("null")
	}
	s.store.Put(c.key, obj, now, commit)
	return r
}

func (s *Server) applyDelete(c *call, now time.Time) reply {
	r := reply{status: 200, body: done}
	p, err := parseParams(c.query, nil)
	if err != nil {
		r = failure(200, bcsapi.CodeDelete, err.Error(), false)
		s.record(c, &r, store.Change{Key: c.key, Effect: ledger.EffectRejected}, time.Time{})
		return r
	}
	s.store.Delete(c.key, p.filter, p.uid, now, func(ch store.Change) { s.record(c, &r, ch, now) })
	return r
}

// record appends one entry for the call to the ledger and notes its sequence number in r. at is zero if nothing was
// applied.
func (s *Server) record(c *call, r *reply, ch store.Change, at time.Time) {
	e := ledger.Entry{
		Instance: c.instance, Method: c.method, Cluster: ch.Key.Cluster, Kind: kubernetesKind(ch.Key.Kind),
		Namespace: ch.Key.Namespace, Name: ch.Key.Name,
		UID: ch.UID, ResourceVersion: ch.ResourceVersion, Bytes: len(c.body),
		Received: c.received.UnixNano(), Code: int(r.code), Effect: ch.Effect, Fault: c.fault,
	}
	if !at.IsZero() {
		e.Applied = at.UnixNano()
	}
	if !c.gone.IsZero() {
		e.Gone = c.gone.UnixNano()
	}
	seq := s.ledger.Append(e)
	if r.first == 0 {
		r.first = seq
	}
	r.last, r.effect = seq, ch.Effect
}

// kubernetesKind is the Kubernetes kind of a document: the paths of E15 have theirs in lower case, and what is put
// there must not appear in lists of the kind.
func kubernetesKind(kind string) string {
	if kind == strings.ToLower(bcsapi.KindExportService) {
		return bcsapi.KindExportService
	}
	return kind
}
