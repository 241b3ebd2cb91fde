package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// Bounds on the talk with our own processes over loopback.
const (
	startLimit = 10 * time.Second // of the mock and the watcher's sockets
	askTimeout = 5 * time.Second  // one scrape
	fetchLimit = 2 * time.Minute  // a whole ledger or state
)

// mock is the storage mock of one cell.
type mock struct {
	*process
	setup     mockSetup
	endpoints []string // base URLs
	admin     string   // base URL
	http      *http.Client
}

// announcement is the line the mock prints once it listens.
type announcement struct {
	Listen []string `json:"listen"`
	Admin  string   `json:"admin"`
}

// mockSetup is what a mock is started with.
type mockSetup struct {
	bin, logs, cell string
	spec            spec.Storage
	seed            uint64
	certs           *certs // nil: plain HTTP
	life            int    // from 1; later ones go on where the former ended
	listen, admin   string
}

func (s mockSetup) file(name string, life int) string {
	return filepath.Join(s.cell, fmt.Sprintf("storage-%d-%s", life, name))
}

func startMock(ctx context.Context, s mockSetup) (*mock, error) {
	argv := []string{
		s.bin, "--listen", s.listen, "--admin", s.admin, "--latency", s.spec.Latency,
		"--seed", strconv.FormatUint(s.seed, 10), "--mode", s.spec.Mode, "--instances", strconv.Itoa(s.spec.Instances),
	}
	if text := s.spec.Capacity.Text(); text != "" {
		argv = append(argv, "--capacity", text)
	}
	scheme := "http://"
	if s.certs != nil {
		scheme = "https://"
		// What is needed to go on after a restart.
		argv = append(argv, "--tls-cert", s.certs.certFile, "--tls-key", s.certs.keyFile,
			"--save-ledger", s.file("ledger.ndjson.zst", s.life), "--save-snapshot", s.file("documents", s.life))
		if s.certs.kind == oldTLS {
			argv = append(argv, "--tls-max-version", "1.1")
		}
	}
	name := "storagemock"
	if s.life > 1 {
		argv = append(argv, "--load-snapshot", s.file("documents", s.life-1))
		name += "-" + strconv.Itoa(s.life)
	}
	var said announcement
	p, err := announce(ctx, child{name: name, argv: argv, logs: s.logs}, &said)
	if err != nil {
		return nil, err
	}
	m := &mock{process: p, setup: s, admin: "http://" + said.Admin, http: newClient()}
	for _, a := range said.Listen {
		m.endpoints = append(m.endpoints, scheme+a)
	}
	m.setup.listen, m.setup.admin = said.Listen[0], said.Admin
	return m, nil
}

// restartMock ends storage in order and starts it again at the same addresses with
// what it held.
func (c *cellRun) restartMock(ctx context.Context) error {
	c.mock.stop(mockGrace)
	if code := c.mock.exitCode(); code != 0 {
		return c.mock.failure()
	}
	s := c.mock.setup
	s.life++
	m, err := startMock(ctx, s)
	if err != nil {
		return fmt.Errorf("start storage again: %w", err)
	}
	// The sampler knows the mock by its addresses, which stay.
	c.mock.process, c.mock.setup = m.process, m.setup
	return nil
}

// newClient keeps a few connections to one process and follows nothing.
func newClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 4, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// get asks one of our processes; the caller closes the body.
func get(ctx context.Context, c *http.Client, url string, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", url, err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", url, err)
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("ask %s: it answers %s", url, resp.Status)
	}
	return resp, nil
}

func scrape(ctx context.Context, c *http.Client, url string) (history.Scrape, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	resp, err := get(ctx, c, url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return history.ParseScrape(resp.Body)
}

func (m *mock) scrape(ctx context.Context) (history.Scrape, error) {
	return scrape(ctx, m.http, m.admin+"/metrics")
}

// setFaults puts the faults in force, or ends all with an empty text.
func (m *mock) setFaults(ctx context.Context, text string) error {
	method := http.MethodPost
	if text == "" {
		method = http.MethodDelete
	}
	if _, err := adminCall(ctx, m.http, method, m.admin+"/faults", text); err != nil {
		return fmt.Errorf("set the faults: %w", err)
	}
	return nil
}

// saveLedger writes the ledger as the mock exports it, compressed; that of several
// lives of the mock in one sequence.
func (m *mock) saveLedger(ctx context.Context, path string) error {
	if m.setup.life == 1 {
		return m.fetchLedger(ctx, path)
	}
	last := m.setup.file("ledger.ndjson.zst", m.setup.life)
	if err := m.fetchLedger(ctx, last); err != nil {
		return err
	}
	var failed error
	all := func(yield func(ledger.Entry) bool) {
		seq := uint64(0)
		for life := 1; life <= m.setup.life; life++ {
			r, err := ledger.Open(m.setup.file("ledger.ndjson.zst", life))
			if err != nil {
				failed = err
				return
			}
			for e, err := range r.All() {
				if err != nil {
					failed = err
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
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("save the ledger: %w", err)
	}
	_, err = ledger.WriteZstd(f, all)
	if err = errors.Join(err, failed, f.Close()); err != nil {
		return fmt.Errorf("save the ledger: %w", err)
	}
	return nil
}

func (m *mock) fetchLedger(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	resp, err := get(ctx, m.http, m.admin+"/ledger", "Accept-Encoding", "zstd")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if enc := resp.Header.Get("Content-Encoding"); enc != "zstd" {
		return fmt.Errorf("fetch the ledger: it came as %q, not as zstd", enc)
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("save the ledger: %w", err)
	}
	_, err = io.Copy(f, resp.Body)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("save the ledger: %w", err)
	}
	return nil
}

// row is one live record as the mock exports it.
type row struct {
	Kind      string          `json:"kind"`
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
	Data      json.RawMessage `json:"data"`
}

// state reads what storage holds and digests it by the rules.
func (m *mock) state(ctx context.Context, rules check.Rules) ([]history.StateRecord, error) {
	return m.stateIn(ctx, "", rules)
}

// stateIn is the same of one namespace; of all with an empty one.
func (m *mock) stateIn(ctx context.Context, namespace string, rules check.Rules) ([]history.StateRecord, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	resp, err := get(ctx, m.http, m.admin+"/state?"+url.Values{"namespace": {namespace}}.Encode())
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body := io.Reader(resp.Body)
	if resp.Header.Get("Content-Encoding") == "zstd" {
		z, err := zstd.NewReader(resp.Body)
		if err != nil {
			return nil, fmt.Errorf("read storage's state: %w", err)
		}
		defer z.Close()
		body = z
	}
	var out []history.StateRecord
	for dec := json.NewDecoder(body); ; {
		var r row
		if err := dec.Decode(&r); err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("read storage's state: %w", err)
		}
		rec, err := check.Digest(check.Raw{Side: history.SideStorage, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, JSON: r.Data}, rules)
		if err != nil {
			return nil, fmt.Errorf("digest %s/%s/%s of storage: %w", r.Kind, r.Namespace, r.Name, err)
		}
		out = append(out, rec)
	}
}
