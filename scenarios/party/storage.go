package party

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/pod"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// Storage is the storage mock of one cell; when it is started again, it keeps its addresses and documents.
type Storage struct {
	*Process
	admin
	Endpoints []string // base URLs, one per instance
	setup     StorageSetup
	life      int // from 1
}

// StorageSetup configures a mock.
type StorageSetup struct {
	Bin, Logs, Cell string // program, folder of logs, folder of the cell
	Spec            spec.Storage
	Seed            uint64
	TLS             *TLS // nil: plain HTTP
	Pods            *Pods
	Name            string // of the process and its log; empty is storagemock

	listen, admin string
}

// TLS is how storage is served over TLS.
type TLS struct {
	CertFile, KeyFile string
	Old               bool // no later version than TLS 1.1
}

// StartStorage returns once the mock listens.
func StartStorage(ctx context.Context, s StorageSetup) (*Storage, error) {
	s.listen, s.admin = "127.0.0.1:0", "127.0.0.1:0"
	if s.Pods != nil {
		s.listen = "0.0.0.0:0" // for the watcher's Pod
	}
	m := &Storage{setup: s, life: 1}
	said, err := m.start(ctx)
	if err != nil {
		return nil, err
	}
	scheme := "http://"
	if s.TLS != nil {
		scheme = "https://"
	}
	at, placed := m.Placed()
	for _, a := range said.Listen {
		if _, port, _ := net.SplitHostPort(a); placed {
			a = net.JoinHostPort(at.IP, port)
		}
		m.Endpoints = append(m.Endpoints, scheme+a)
	}
	m.setup.listen, m.setup.admin = said.Listen[0], said.Admin
	m.admin = admin{m.client(), "http://" + said.Admin}
	return m, nil
}

func (m *Storage) start(ctx context.Context) (said announcement, err error) {
	s := m.setup
	argv := []string{
		s.Bin, "--listen", s.listen, "--admin", s.admin, "--latency", s.Spec.Latency,
		"--seed", strconv.FormatUint(s.Seed, 10), "--mode", s.Spec.Mode, "--instances", strconv.Itoa(s.Spec.Instances),
	}
	if text := s.Spec.Capacity.Text(); text != "" {
		argv = append(argv, "--capacity", text)
	}
	if s.TLS != nil {
		// What is needed to go on after a restart.
		argv = append(argv, "--tls-cert", s.TLS.CertFile, "--tls-key", s.TLS.KeyFile,
			"--save-ledger", m.file(m.life, ledgerOfLife), "--save-snapshot", m.file(m.life, documents))
		if s.TLS.Old {
			argv = append(argv, "--tls-old")
		}
	}
	name := cmp.Or(s.Name, "storagemock")
	if m.life > 1 {
		argv = append(argv, "--load-snapshot", m.file(m.life-1, documents))
		name += "-" + strconv.Itoa(m.life)
	}
	c := child{name: name, argv: argv, logs: s.Logs}
	if s.Pods != nil {
		c.argv = append(c.argv, "--allow-remote")
		if c, err = s.Pods.place(c, programStorage, pod.Spec{}); err != nil {
			return said, err
		}
	}
	p, err := begin(ctx, c, "", startLimit, &said)
	if err == nil {
		m.Process = p // after a failure it stays the one that has ended
	}
	return said, err
}

// What is kept of one life for the next.
const (
	ledgerOfLife = "ledger.ndjson.zst"
	documents    = "documents"
)

func (m *Storage) file(life int, name string) string {
	return filepath.Join(m.setup.Cell, fmt.Sprintf("storage-%d-%s", life, name))
}

// Restart ends storage in order and starts it again with what it held. Only a storage over TLS saves it.
func (m *Storage) Restart(ctx context.Context) error {
	m.Stop(StorageGrace)
	if code := m.ExitCode(); code != 0 {
		return m.Failure()
	}
	return m.Revive(ctx)
}

// Snapshot keeps what storage holds now for its next life.
func (m *Storage) Snapshot(ctx context.Context) error {
	return save(ctx, m.http, m.base+"/snapshot", m.file(m.life, documents))
}

// Cut makes storage refuse every connection and keeps its ledger, which dies with the process.
func (m *Storage) Cut(ctx context.Context) error {
	if err := m.SetFaults(ctx, "refuse(for=1h)"); err != nil {
		return err
	}
	return m.fetchLedger(ctx, m.file(m.life, ledgerOfLife))
}

// Revive starts storage again, after its end, with the documents that were kept.
func (m *Storage) Revive(ctx context.Context) error {
	m.life++
	if _, err := m.start(ctx); err != nil {
		return fmt.Errorf("start storage again: %w", err)
	}
	return nil
}

// Scrape reads the mock's metrics.
func (m *Storage) Scrape(ctx context.Context) (history.Scrape, error) {
	_, s, err := m.Metrics(ctx)
	return s, err
}

// Metrics reads the mock's metrics, as text and parsed.
func (m *Storage) Metrics(ctx context.Context) (text []byte, s history.Scrape, err error) {
	err = m.retrying(ctx, func() error { text, s, err = scrape(ctx, m.http, m.base+"/metrics"); return err })
	return text, s, err
}

// SetFaults puts faults in force.
func (m *Storage) SetFaults(ctx context.Context, text string) error {
	if _, err := m.call(ctx, http.MethodPost, "/faults", text); err != nil {
		return fmt.Errorf("set the faults: %w", err)
	}
	return nil
}

// PutRow writes a row behind the watcher's back, without an entry in the ledger.
func (m *Storage) PutRow(ctx context.Context, cluster, kind, namespace, name, body string) error {
	return m.tamper(ctx, http.MethodPut,
		url.Values{"cluster": {cluster}, "kind": {kind}, "namespace": {namespace}, "name": {name}}, body)
}

// RemoveRow takes a row out behind the watcher's back; see PutRow. One that is not there is an error.
func (m *Storage) RemoveRow(ctx context.Context, cluster, kind, namespace, name string) error {
	return m.tamper(ctx, http.MethodDelete,
		url.Values{"cluster": {cluster}, "kind": {kind}, "namespace": {namespace}, "name": {name}}, "")
}

func (m *Storage) tamper(ctx context.Context, method string, q url.Values, body string) error {
	data, err := m.call(ctx, method, "/state?"+q.Encode(), body)
	if err != nil {
		return err
	}
	var answer struct {
		Effect string `json:"effect"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return fmt.Errorf("read the answer of storage: %w", err)
	}
	if answer.Effect == ledger.EffectNone {
		return fmt.Errorf("storage has no row %s/%s/%s to tamper with", q.Get("kind"), q.Get("namespace"), q.Get("name"))
	}
	return nil
}

// SaveState writes every row as the mock exports it.
func (m *Storage) SaveState(ctx context.Context, path string) error {
	return m.retrying(ctx, func() error { return save(ctx, m.http, m.base+"/state", path) })
}

// SaveLedger writes the ledger as the mock exports it, compressed; that of several lives in one sequence.
func (m *Storage) SaveLedger(ctx context.Context, path string) error {
	if m.life == 1 {
		return m.fetchLedger(ctx, path)
	}
	if err := m.fetchLedger(ctx, m.file(m.life, ledgerOfLife)); err != nil {
		return err
	}
	var failed error
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("save the ledger: %w", err)
	}
	err = ledger.WriteZstd(f, m.allLives(&failed))
	if err = errors.Join(err, failed, f.Close()); err != nil {
		return fmt.Errorf("save the ledger: %w", err)
	}
	return nil
}

// allLives yields the ledgers of all lives, numbered anew.
func (m *Storage) allLives(failed *error) func(yield func(ledger.Entry) bool) {
	return func(yield func(ledger.Entry) bool) {
		seq := uint64(0)
		for life := 1; life <= m.life; life++ {
			r, err := ledger.Open(m.file(life, ledgerOfLife))
			if err != nil {
				*failed = err
				return
			}
			for e, err := range r.All() {
				if err != nil {
					*failed = err
					break
				}
				seq++
				e.Seq = seq
				if !yield(e) {
					break
				}
			}
			_ = r.Close() // only read from
		}
	}
}

func (m *Storage) fetchLedger(ctx context.Context, path string) error {
	return m.retrying(ctx, func() error { return save(ctx, m.http, m.base+"/ledger", path, "Accept-Encoding", "zstd") })
}

// row is one live record as the mock exports it.
type row struct {
	Kind, Namespace, Name string
	Data                  []byte
}

// readRow reads a line; the data are a part of it.
func readRow(line []byte, in *jsonscan.Interner) (r row, err error) {
	var other []byte
	err = jsonscan.Decode(line, in, func(key []byte) any {
		switch string(key) {
		case "kind":
			return &r.Kind
		case "namespace":
			return &r.Namespace
		case "name":
			return &r.Name
		case "data":
			return &r.Data
		}
		return &other
	})
	return r, err
}

// State reads what storage holds of the cluster's objects and digests it by the rules.
func (m *Storage) State(ctx context.Context, rules check.Rules) ([]history.StateRecord, error) {
	return m.StateIn(ctx, "", rules)
}

// StateIn is State of one namespace; of all with an empty one.
func (m *Storage) StateIn(ctx context.Context, namespace string, rules check.Rules) (out []history.StateRecord,
	err error) {
	err = m.retrying(ctx, func() error {
		out = nil
		return m.each(ctx, "namespace="+url.QueryEscape(namespace), func(r check.Raw) error {
			rec, err := check.Digest(r, rules)
			if err != nil {
				return fmt.Errorf("digest %s/%s/%s of storage: %w", r.Kind, r.Namespace, r.Name, err)
			}
			out = append(out, rec)
			return nil
		})
	})
	return out, err
}

// Objects reads those of the objects that storage holds.
func (m *Storage) Objects(ctx context.Context, keys []history.Key) (map[history.Key]check.Raw, error) {
	out := map[history.Key]check.Raw{}
	err := m.each(ctx, "", func(r check.Raw) error {
		if k := (history.Key{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}); slices.Contains(keys, k) {
			out[k] = r
		}
		return nil
	})
	return out, err
}

// each passes on the objects of the cluster that the mock's query selects, all with an empty one.
func (m *Storage) each(ctx context.Context, query string, object func(check.Raw) error) error {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	resp, err := get(ctx, m.http, m.base+"/state?"+query)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	in := jsonscan.NewInterner()
	for lines := bufio.NewReaderSize(resp.Body, 256<<10); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		var r row
		if err == nil {
			r, err = readRow(line, in)
		}
		if err != nil {
			return fmt.Errorf("read storage's state: %w", err)
		}
		if check.Unwatched(r.Kind) {
			continue
		}
		if err := object(check.Raw{Side: history.SideStorage, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name,
			JSON: r.Data}); err != nil {
			return err
		}
	}
}
