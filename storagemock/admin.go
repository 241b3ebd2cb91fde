package storagemock

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/watchbench/watchbench/internal/faultlist"
	"github.com/watchbench/watchbench/internal/ndjson"
	"github.com/watchbench/watchbench/storagemock/ledger"
	"github.com/watchbench/watchbench/storagemock/store"
)

// AdminHandler is the admin API. It has no authentication: serve it on loopback.
//
//	GET    /metrics                      Prometheus
//	GET    /healthz                      ok
//	GET    /ledger                       NDJSON of ledger.Entry
//	GET    /state                        NDJSON of {cluster, kind, namespace, name, data}: every live document,
//	                                     or those of ?namespace=
//	GET    /state?former=true            the same of what was replaced or deleted, as far as it is kept
//	PUT    /state?cluster=&kind=&namespace=&name=   store the body as data, without latency and without a ledger entry
//	DELETE /state?…                      delete that document in the same way
//	GET    /snapshot                     the whole store, to be loaded by a later run
//	GET    /faults                       JSON list of the active faults, with counts
//	POST   /faults                       activate the faults in the body (text)
//	DELETE /faults, DELETE /faults?id=N  end all faults, or one of them
//
// The ledger is compressed with zstd if the request's Accept-Encoding lists zstd.
func (s *Server) AdminHandler(gatherer prometheus.Gatherer, withPprof bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /ledger", s.adminLedger)
	mux.HandleFunc("GET /state", s.adminState)
	mux.HandleFunc("PUT /state", s.adminTamper)
	mux.HandleFunc("DELETE /state", s.adminTamper)
	mux.HandleFunc("GET /snapshot", func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/zstd")
		s.abort(req, s.store.Save(w))
	})
	mux.Handle("/faults", faultlist.Handler(faultlist.Ops{List: s.faults.List, Add: s.AddFaults, Remove: s.faults.Remove}))
	if withPprof {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}

const contentNDJSON = "application/x-ndjson"

// abort aborts an answer that has begun, so that the client notices.
func (s *Server) abort(req *http.Request, err error) {
	if err == nil {
		return
	}
	s.log.Warn("admin answer aborted", "path", req.URL.Path, "error", err)
	panic(http.ErrAbortHandler)
}

func (s *Server) adminLedger(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", contentNDJSON)
	write := ledger.Write
	if strings.Contains(req.Header.Get("Accept-Encoding"), "zstd") {
		w.Header().Set("Content-Encoding", "zstd")
		write = ledger.WriteZstd
	}
	s.abort(req, write(w, s.ledger.From(1)))
}

// stateLine is one document of GET /state.
type stateLine struct {
	Cluster   string          `json:"cluster"`
	Kind      string          `json:"kind"`
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
	Data      json.RawMessage `json:"data"`
}

func (s *Server) adminState(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", contentNDJSON)
	ns := req.URL.Query().Get("namespace")
	records := s.store.All
	if req.URL.Query().Has("former") {
		records = s.store.Former
	}
	s.abort(req, ndjson.Encode(w, false, func(enc *json.Encoder) (err error) {
		for _, d := range records() {
			if ns == "" || d.Namespace == ns {
				err = cmp.Or(err, enc.Encode(stateLine{d.Cluster, kubernetesKind(d.Kind), d.Namespace, d.Name, d.Data()}))
			}
		}
		return err
	}))
}

// adminTamper edits or deletes a document without a ledger entry: damage that a watcher must repair.
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
