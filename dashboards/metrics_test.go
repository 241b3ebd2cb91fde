package dashboards

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/storagemock"
)

const page, reference = "../docs/metrics.md", "../docs/k8s-watch-reference.md"

// entry is one exported metric.
type entry struct{ name, typ, labels, means string }

// exported are the metrics of k8s-watch and of storagemock. Those of the watcher are read
// from its reference, which package watcher's TestReference generates from the registry;
// TestFaults compares both lists with what processes export.
func exported(t *testing.T) []entry {
	t.Helper()
	b, err := os.ReadFile(reference)
	check(t, err)
	var all []entry
	section := regexp.MustCompile("(?m)^### (\\w+)\n\nA (counter|gauge|histogram)(?: by ((?:`\\w+`,? ?)+))?\\. .*\n\n(.*)$")
	for _, m := range section.FindAllStringSubmatch(string(b), -1) {
		all = append(all, entry{m[1], m[2], m[3], strings.ReplaceAll(m[4], "](#", "](k8s-watch-reference.md#")})
	}
	if n := strings.Count(string(b), "\n### "); len(all) != n {
		t.Fatalf("%d of %d metrics in %s understood", len(all), n, reference)
	}
	return append(all, mockMetrics(t)...)
}

var description = regexp.MustCompile(`^Desc\{fqName: "([^"]*)".*variableLabels: \{([^}]*)\}`)

// mockMetrics are those that a storagemock registers.
func mockMetrics(t *testing.T) (all []entry) {
	t.Helper()
	reg := prometheus.NewRegistry()
	cfg := storagemock.DefaultConfig()
	cfg.Listen = "127.0.0.1:0"
	s, err := storagemock.New(cfg, storagemock.Settings{Registry: reg})
	check(t, err)
	t.Cleanup(func() { _ = s.Close() })
	means := constants(t)
	descs := make(chan *prometheus.Desc)
	go func() { reg.Describe(descs); close(descs) }()
	for d := range descs {
		m := description.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("not understood: %s", d)
		}
		e := entry{name: m[1], typ: "gauge", means: means[m[1]]}
		switch {
		case e.name == metric.MockLatency:
			e.typ = "histogram"
		case strings.HasSuffix(e.name, "_total"):
			e.typ = "counter"
		}
		if m[2] != "" {
			e.labels = "`" + strings.ReplaceAll(m[2], ",", "`, `") + "`"
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return all
}

// constants are the comments of internal/metric by the names of metrics.
func constants(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../internal/metric/metric.go", nil, parser.ParseComments)
	check(t, err)
	all := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			if lit, ok := v.Values[0].(*ast.BasicLit); ok {
				name, _ := strconv.Unquote(lit.Value)
				all[name] = strings.Join(strings.Fields(v.Doc.Text()), " ")
			}
		}
		return true
	})
	return all
}

// ofEvery reports whether a metric is one of every Go process or of every scrape.
func ofEvery(name string) bool {
	return strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") || name == metric.TargetUp
}

const intro = `# Dashboards and alerts

Generated: ` + "`go test ./dashboards -run TestMetricsPage -update`" + `. The metrics of k8s-watch are in
[its reference](k8s-watch-reference.md#metrics); watchbench exports none.

[dashboards/grafana](../dashboards/grafana) has the dashboards, [dashboards/prometheus](../dashboards/prometheus) the scrape configuration and
the rules. To try them, put the addresses into ` + "`dashboards/prometheus/targets/`" + ` and run
` + "`docker compose -f deploy/monitoring/compose.yaml up`" + `; Grafana is on http://localhost:3000. The label ` + "`cluster_id`" + ` of each target keeps
clusters apart. A bench run chooses free ports. For the Prometheus operator, ` + "`deploy/components/monitoring`" + ` has the same rules.

` + "`make dashboards-test`" + ` checks with a real Prometheus that each alert fires under its fault and no other.

`

// TestMetricsPage: docs/metrics.md is what the code says, and internal/metric names nothing that no process exports.
func TestMetricsPage(t *testing.T) {
	b := bytes.NewBufferString(intro)
	_, alerts := rules(t)
	b.WriteString("## Alerts\n\n| alert | severity | what to do |\n|---|---|---|\n")
	for _, a := range alerts {
		link := strings.TrimPrefix(a.Annotations["runbook_url"], docs)
		fmt.Fprintf(b, "| `%s` | %s | %s [More](%s) |\n", a.Alert, a.Labels["severity"], a.Annotations["runbook"], link)
	}
	b.WriteString("\n## Metrics of storagemock\n\n| metric | type | labels | a growing value means |\n|---|---|---|---|\n")
	list := exported(t)
	for _, e := range list {
		if e.means == "" {
			t.Errorf("%s: no comment in internal/metric", e.name)
		}
		if strings.HasPrefix(e.name, storageJob+"_") {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", e.name, e.typ, e.labels, e.means)
		}
	}
	if *update {
		check(t, os.WriteFile(page, b.Bytes(), 0o644)) //nolint:gosec // a page
	}
	if have, err := os.ReadFile(page); err != nil || !bytes.Equal(have, b.Bytes()) {
		t.Errorf("%s is not what the code says (%v): run this test with -update", page, err)
	}
	for name := range constants(t) {
		if ours.MatchString(name) && !slices.ContainsFunc(list, func(e entry) bool { return e.name == name }) {
			t.Errorf("internal/metric names %s, which nothing exports", name)
		}
	}
}
