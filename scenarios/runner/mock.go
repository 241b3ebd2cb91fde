package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/measure"
	"github.com/watchbench/watchbench/scenarios/spec"
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
	endpoints []string // base URLs
	admin     string   // base URL
	http      *http.Client
}

// announcement is the line the mock prints once it listens.
type announcement struct {
	Listen []string `json:"listen"`
	Admin  string   `json:"admin"`
}

func startMock(ctx context.Context, bin, logs string, s spec.Storage, seed uint64) (*mock, error) {
	argv := []string{
		bin, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--latency", s.Latency,
		"--seed", strconv.FormatUint(seed, 10), "--mode", s.Mode, "--instances", strconv.Itoa(s.Instances),
	}
	if s.Capacity.Inflight > 0 {
		argv = append(argv, "--capacity", "inflight="+strconv.Itoa(s.Capacity.Inflight))
	}
	first := make(chan []byte, 1) // one announcement, taken below or never
	p, err := start(child{name: "storagemock", argv: argv, logs: logs, lines: func(line []byte) {
		select {
		case first <- append([]byte(nil), line...):
		default:
		}
	}})
	if err != nil {
		return nil, err
	}
	var said announcement
	err = p.await(ctx, "the storage mock's announcement", 5*time.Millisecond, startLimit, func(context.Context) bool {
		select {
		case line := <-first:
			return json.Unmarshal(line, &said) == nil && said.Admin != "" && len(said.Listen) > 0
		default:
			return false
		}
	})
	if err != nil {
		p.kill()
		return nil, err
	}
	m := &mock{process: p, admin: "http://" + said.Admin, http: newClient()}
	for _, a := range said.Listen {
		m.endpoints = append(m.endpoints, "http://"+a)
	}
	return m, nil
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

func scrape(ctx context.Context, c *http.Client, url string) (measure.Scrape, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	resp, err := get(ctx, c, url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return measure.ParseScrape(resp.Body)
}

func (m *mock) scrape(ctx context.Context) (measure.Scrape, error) {
	return scrape(ctx, m.http, m.admin+"/metrics")
}

// setFaults puts the faults in force, or ends all with an empty text.
func (m *mock) setFaults(ctx context.Context, text string) error {
	method := http.MethodPost
	if text == "" {
		method = http.MethodDelete
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, m.admin+"/faults", strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("set the faults: %w", err)
	}
	resp, err := m.http.Do(req)
	if err != nil {
		return fmt.Errorf("set the faults: %w", err)
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the mock answers %s: %s", resp.Status, strings.TrimSpace(string(said)))
	}
	if err != nil {
		return fmt.Errorf("set the faults: %w", err)
	}
	return nil
}

// saveLedger writes the ledger as the mock exports it, compressed.
func (m *mock) saveLedger(ctx context.Context, path string) error {
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
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
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
func (m *mock) state(ctx context.Context, rules check.Rules) ([]check.StateRecord, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	resp, err := get(ctx, m.http, m.admin+"/state")
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
	var out []check.StateRecord
	for dec := json.NewDecoder(body); ; {
		var r row
		if err := dec.Decode(&r); err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("read storage's state: %w", err)
		}
		rec, err := check.Digest(check.Raw{Side: check.SideStorage, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, JSON: r.Data}, rules)
		if err != nil {
			return nil, fmt.Errorf("digest %s/%s/%s of storage: %w", r.Kind, r.Namespace, r.Name, err)
		}
		out = append(out, rec)
	}
}
