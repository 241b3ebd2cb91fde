package storagemock

import (
	"context"
	"encoding/json"
	"net/url"
	"time"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/storagemock/http1"
	"github.com/watchbench/watchbench/storagemock/query"
	"github.com/watchbench/watchbench/storagemock/rawjson"
)

// watchOptions is the body of E14; only maxEvents matters to a table that is
// only ever added to.
type watchOptions struct {
	MaxEvents uint
}

// watchEvents is E14: one JSON message per event stored from now on, and one of
// type -1 at the end.
func (s *Server) watchEvents(ctx context.Context, c *call, x *http1.Exchange) {
	defer func() { s.metrics.count(c.method, c.key.Kind, "read", time.Since(c.received)) }()
	params, err := url.ParseQuery(c.query)
	cluster := params.Get("clusterId")
	if err != nil || cluster == "" {
		_ = x.Answer(http1.Answer{Status: 400, ContentType: contentType, Body: []byte("400: clusterId is missing")})
		return
	}
	var opts watchOptions
	if err := rawjson.Valid(c.body); err != nil || json.Unmarshal(c.body, &opts) != nil {
		r := failure(200, bcsapi.CodeUnmarshal, "the request's body is not the JSON of watch options", false)
		_ = x.Answer(http1.Answer{Status: r.status, ContentType: contentType, Body: r.body})
		return
	}
	sub := s.store.Subscribe(cluster)
	defer sub.Close()
	gone, stop := x.Gone(ctx)
	defer stop()
	w, end, err := x.Stream(http1.Answer{Status: 200, ContentType: contentType})
	if err != nil {
		return
	}
	sent := uint(0)
	for {
		select {
		case e, open := <-sub.C:
			if !open {
				s.breakStream(w, end)
				return
			}
			b := append([]byte(nil), `{"type":1,"value":`...)
			b = append(query.Projection{}.Append(b, e), "}\n"...)
			if _, err := w.Write(b); err != nil {
				return
			}
			if sent++; opts.MaxEvents > 0 && sent >= opts.MaxEvents {
				s.breakStream(w, end)
				return
			}
		case <-gone.Done():
			s.breakStream(w, end)
			return
		}
	}
}

// breakStream says that no more comes; a client that has gone does not hear it.
func (s *Server) breakStream(w interface{ Write([]byte) (int, error) }, end func() error) {
	if _, err := w.Write([]byte(`{"type":-1,"value":null}` + "\n")); err == nil {
		_ = end()
	}
}
