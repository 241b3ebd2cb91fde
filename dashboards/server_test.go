package dashboards

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// server is a real Prometheus.
type server struct{ url string }

// scrapeTarget is one process to scrape.
type scrapeTarget struct {
	address string // host:port
	cluster string // its cluster_id
}

// quick is the timing of this test in place of the files': it changes how long a rule looks back and waits, never what it
// compares.
var quick = strings.NewReplacer("15s", "1s", "timeout: 10s", "timeout: 1s", "[5m]", "[20s]", "[1h]", "[40s]", "> 7200", "> 80", "for: 5m", "for: 10s", "for: 1m", "for: 2s")

// serve starts it on the files, with this test's timing and targets.
func serve(t *testing.T, watchers, mocks []scrapeTarget) *server {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{configFile, rulesFile} {
		b, err := os.ReadFile(filepath.Join("prometheus", name))
		check(t, err)
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(quick.Replace(string(b))), 0o600))
	}
	check(t, os.Mkdir(filepath.Join(dir, "targets"), 0o750))
	for name, targets := range map[string][]scrapeTarget{watcherTargets: watchers, storageTargets: mocks} {
		text := ""
		for _, target := range targets {
			text += fmt.Sprintf("- {targets: [%q], labels: {cluster_id: %q}}\n", target.address, target.cluster)
		}
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	address := fmt.Sprintf("127.0.0.1:%d", freePorts(t, 1)[0])
	log := filepath.Join(dir, "prometheus.log")
	start(t, "prometheus", log, "--config.file="+configFile, "--storage.tsdb.path=data", "--web.listen-address="+address, "--log.level=warn")
	s := &server{url: "http://" + address}
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		if res, err := http.Get(s.url + "/-/ready"); err == nil { //nolint:noctx // of this test
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return s
			}
		}
		if time.Now().After(deadline) {
			b, _ := os.ReadFile(log) //nolint:gosec // of this test
			t.Fatalf("Prometheus is not ready within a minute:\n%s", b)
		}
	}
}

// get asks the HTTP API.
func (s *server) get(t *testing.T, path string, into any) {
	t.Helper()
	res, err := http.Get(s.url + path) //nolint:noctx,gosec // of this test
	check(t, err)
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	check(t, json.NewDecoder(res.Body).Decode(&answer))
	if answer.Status != "success" {
		t.Errorf("%s: %s", path, answer.Error)
		return
	}
	check(t, json.Unmarshal(answer.Data, into))
}

type series struct {
	Metric map[string]string
}

func (s *server) query(t *testing.T, expr string) []series {
	t.Helper()
	var data struct{ Result []series }
	s.get(t, "/api/v1/query?query="+url.QueryEscape(expr), &data)
	return data.Result
}

// firing are the alerts, as "cluster alert".
func (s *server) firing(t *testing.T) (all []string) {
	for _, r := range s.query(t, `count by (cluster_id, alertname) (ALERTS{alertstate="firing"})`) {
		all = append(all, r.Metric["cluster_id"]+" "+r.Metric["alertname"])
	}
	return all
}

// variables of Grafana, with everything chosen.
var variables = strings.NewReplacer("$cluster", ".*", "$job", ".*", "$instance", ".*",
	"$__rate_interval", "20s", "$__range", "4m")

// want reports a query that fails or has no result.
func (s *server) want(t *testing.T, what, expr string) {
	t.Helper()
	expr = variables.Replace(expr)
	if strings.Contains(expr, "$") {
		t.Errorf("%s: a variable that this test does not know: %s", what, expr)
	}
	if len(s.query(t, expr)) == 0 {
		t.Errorf("%s: no result: %s", what, expr)
	}
}

// rulesWork reports rules that fail or are not there.
func (s *server) rulesWork(t *testing.T) {
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	s.get(t, "/api/v1/rules", &data)
	n := 0
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			n++
			if r.Health != "ok" {
				t.Errorf("rule %s: %s %s", r.Name, r.Health, r.LastError)
			}
		}
	}
	records, alerts := rules(t)
	if want := len(records) + len(alerts); n != want {
		t.Errorf("%d rules are loaded, want %d", n, want)
	}
}

// compare reports metrics that the processes export and docs/metrics.md lacks, and the other way round.
func (s *server) compare(t *testing.T, targets []scrapeTarget) {
	var data map[string][]struct{ Type string }
	s.get(t, "/api/v1/metadata", &data)
	listed := map[string]string{}
	for _, e := range exported(t) {
		listed[e.name] = e.typ
		if len(data[e.name]) == 0 {
			t.Errorf("%s is in the list and none of %d processes exports it", e.name, len(targets))
		}
	}
	for name, is := range data {
		if !ofEvery(name) && listed[name] != is[0].Type {
			t.Errorf("%s, a %s, is exported and is a %q in the list", name, is[0].Type, listed[name])
		}
	}
}
