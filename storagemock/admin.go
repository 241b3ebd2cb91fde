package storagemock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/watchbench/watchbench/internal/faultlist"
	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/storagemock/ledger"
	"github.com/watchbench/watchbench/storagemock/store"
)

// AdminHandler is the admin API. It has no authentication: serve it on loopback.
//
//	GET    /metrics                      Prometheus
//	GET    /healthz                      ok
//	GET    /ledger                       NDJSON of ledger.Entry; ?from=SEQ, or ?kind=&namespace=&name=&cluster= for one key
//	GET    /state                        NDJSON of {cluster, kind, namespace, name, data}: every live document, or those of ?namespace=
//	PUT    /state?cluster=&kind=&namespace=&name=   store the body as data, without latency and without a ledger entry
//	DELETE /state?…                      delete that document in the same way
//	GET    /snapshot, PUT /snapshot      export or import the whole store, for a later run
//	GET    /latency, PUT /latency        the latency model as text
//	GET    /capacity, PUT /capacity      the capacity as text
//	GET    /faults                       JSON list of the active faults, with counts
//	POST   /faults                       activate the faults in the body (text)
//	DELETE /faults, DELETE /faults?id=N  end all faults, or one of them
//	POST   /reset                        forget documents, events and ledger
//
// NDJSON is compressed with zstd if the request's Accept-Encoding lists zstd.
func (s *Server) AdminHandler(gatherer prometheus.Gatherer, withPprof bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /ledger", s.adminLedger)
	mux.HandleFunc("GET /state", s.adminState)
	mux.HandleFunc("PUT /state", s.adminTamper)
	mux.HandleFunc("DELETE /state", s.adminTamper)
	mux.HandleFunc("GET /snapshot", s.adminSave)
	mux.HandleFunc("PUT /snapshot", s.adminLoad)
	mux.HandleFunc("GET /latency", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s.model.Load().String()+"\n") })
	mux.HandleFunc("PUT /latency", adminText(s.SetLatency))
	mux.HandleFunc("GET /capacity", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, s.instances[0].stations.Load().Capacities().String()+"\n")
	})
	mux.HandleFunc("PUT /capacity", adminText(s.SetCapacity))
	mux.Handle("/faults", faultlist.Handler(faultlist.Ops{List: s.faults.List, Add: s.AddFaults, Remove: s.faults.Remove}))
	mux.HandleFunc("POST /reset", func(w http.ResponseWriter, _ *http.Request) {
		s.Reset()
		w.WriteHeader(http.StatusNoContent)
	})
	if withPprof {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// maxAdminText bounds a specification sent as a body.
const maxAdminText = 64 << 10

// adminText passes the body, a specification, to set.
func adminText(set func(string) error) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		b, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxAdminText))
		if err == nil {
			err = set(strings.TrimSpace(string(b)))
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// ndjson prepares an NDJSON answer, compressed if the client accepts zstd.
func ndjson(w http.ResponseWriter, req *http.Request) (out io.Writer, closeOut func() error, err error) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	if !strings.Contains(req.Header.Get("Accept-Encoding"), "zstd") {
		return w, func() error { return nil }, nil
	}
	w.Header().Set("Content-Encoding", "zstd")
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, nil, fmt.Errorf("starting zstd: %w", err)
	}
	return z, z.Close, nil
}

// abort aborts an answer that has begun, so that the client notices.
func (s *Server) abort(req *http.Request, err error) {
	if err == nil {
		return
	}
	s.log.Warn("admin answer aborted", "path", req.URL.Path, "error", err)
	panic(http.ErrAbortHandler)
}

func (s *Server) adminLedger(w http.ResponseWriter, req *http.Request) {
	q := req.URL.Query()
	from := uint64(1)
	if text := q.Get("from"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			http.Error(w, fmt.Sprintf("from=%s: want a seq, a whole number of at least 1", text), http.StatusBadRequest)
			return
		}
		from = n
	}
	entries := s.ledger.From(from)
	if q.Has("name") || q.Has("kind") {
		if q.Get("name") == "" || q.Get("kind") == "" {
			http.Error(w, "kind and name must be given together, with namespace and cluster if the object has them", http.StatusBadRequest)
			return
		}
		entries = ofKey(entries, store.Key{Cluster: q.Get("cluster"), Kind: q.Get("kind"), Namespace: q.Get("namespace"), Name: q.Get("name")})
	}
	out, closeOut, err := ndjson(w, req)
	if err == nil {
		_, err = ledger.Write(out, entries)
		err = errors.Join(err, closeOut())
	}
	s.abort(req, err)
}

// ofKey keeps the entries of one key.
func ofKey(entries iter.Seq[ledger.Entry], k store.Key) iter.Seq[ledger.Entry] {
	return func(yield func(ledger.Entry) bool) {
		for e := range entries {
			if k == (store.Key{Cluster: e.Cluster, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}) && !yield(e) {
				return
			}
		}
	}
}

func (s *Server) adminState(w http.ResponseWriter, req *http.Request) {
	docs := s.store.All()
	if ns := req.URL.Query().Get("namespace"); ns != "" {
		docs = slices.DeleteFunc(docs, func(d *store.Record) bool { return d.Namespace != ns })
	}
	out, closeOut, err := ndjson(w, req)
	if err == nil {
		err = errors.Join(writeState(out, docs), closeOut())
	}
	s.abort(req, err)
}

// writeState writes one line per document.
func writeState(w io.Writer, docs []*store.Record) error {
	b := make([]byte, 0, 64<<10)
	for _, d := range docs {
		b = append(b, `{"cluster":`...)
		b = append(jsonscan.AppendString(b, d.Cluster), `,"kind":`...)
		b = append(jsonscan.AppendString(b, kubernetesKind(d.Kind)), `,"namespace":`...)
		b = append(jsonscan.AppendString(b, d.Namespace), `,"name":`...)
		b = append(jsonscan.AppendString(b, d.Name), `,"data":`...)
		b = appendCompact(b, d.Data)
		b = append(b, "}\n"...)
		if len(b) > 48<<10 {
			if _, err := w.Write(b); err != nil {
				return fmt.Errorf("writing the state: %w", err)
			}
			b = b[:0]
		}
	}
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	return nil
}

// appendCompact appends JSON without line breaks, which NDJSON could not hold.
func appendCompact(dst, raw []byte) []byte {
	for _, c := range raw {
		if c != '\n' && c != '\r' { // never inside a string of valid JSON
			dst = append(dst, c)
		}
	}
	return dst
}

// adminTamper edits or deletes a document without a ledger entry: damage that a watcher
// must repair.
func (s *Server) adminTamper(w http.ResponseWriter, req *http.Request) {
	q := req.URL.Query()
	k := store.Key{Cluster: q.Get("cluster"), Kind: q.Get("kind"), Namespace: q.Get("namespace"), Name: q.Get("name")}
	if k.Cluster == "" || k.Kind == "" || k.Name == "" {
		http.Error(w, "want cluster, kind and name, and namespace if the object has one", http.StatusBadRequest)
		return
	}
	if req.Method == http.MethodDelete {
		ch := s.store.Delete(k, nil, "", time.Now(), func(store.Change) {})
		writeEffect(w, ch[0].Effect)
		return
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, req.Body, 16<<20))
	if err == nil {
		err = validate(b)
	}
	if err != nil {
		http.Error(w, "the body: "+err.Error(), http.StatusBadRequest)
		return
	}
	ch := s.store.Put(k, store.Object{Data: b, Meta: store.ParseMeta(b)}, time.Now(), func(store.Change) {})
	writeEffect(w, ch.Effect)
}

func writeEffect(w http.ResponseWriter, effect string) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"effect": effect})
}

func (s *Server) adminSave(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "application/zstd")
	s.abort(req, s.store.Save(w))
}

func (s *Server) adminLoad(w http.ResponseWriter, req *http.Request) {
	if err := s.store.Load(req.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
