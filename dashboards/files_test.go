package dashboards

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Jobs, the values of the label job, and files of Prometheus, in one folder.
const (
	watcherJob     = "bcs-k8s-watch" // what the dashboard of bcs-k8s-watch asks for, too
	storageJob     = "storagemock"
	configFile     = "prometheus.yml"
	rulesFile      = "rules.yml"
	watcherTargets = "targets/k8s-watch.yml"
	storageTargets = "targets/storagemock.yml"
)

// board is a dashboard of Grafana.
type board struct {
	Title  string
	Panels []panel
	file   string
}

type panel struct {
	Type, Title, Description string
	Targets                  []struct{ Expr, LegendFormat string }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	row                      string
}

// boards are the dashboards with their panels, rows left out.
func boards(t *testing.T) (all []board) {
	t.Helper()
	for _, name := range []string{"watcher.json", "bench.json", "storage.json"} {
		data, err := os.ReadFile(filepath.Join("grafana", name))
		check(t, err)
		b := board{file: name}
		check(t, json.Unmarshal(data, &b))
		row, panels := "", b.Panels
		b.Panels = nil
		for _, p := range panels {
			if p.Type == "row" {
				row = p.Title
				continue
			}
			p.row = row
			b.Panels = append(b.Panels, p)
		}
		all = append(all, b)
	}
	return all
}

// rule is a recording rule or an alert.
type rule struct {
	Record, Alert, Expr, For string
	Labels, Annotations      map[string]string
}

type groups struct{ Groups []struct{ Rules []rule } }

// rules are those of a file.
func rules(t *testing.T) (records, alerts []rule) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("prometheus", rulesFile))
	check(t, err)
	var all groups
	check(t, yaml.Unmarshal(data, &all))
	for _, g := range all.Groups {
		for _, r := range g.Rules {
			if r.Record != "" {
				records = append(records, r)
			} else {
				alerts = append(alerts, r)
			}
		}
	}
	if len(records) == 0 || len(alerts) == 0 {
		t.Fatal("no rules")
	}
	return records, alerts
}

// Clusters with the Prometheus operator get the same rules.
func TestOperator(t *testing.T) {
	var plain, operator struct {
		Groups any
		Spec   struct{ Groups any }
	}
	for path, into := range map[string]any{"prometheus/" + rulesFile: &plain, "../deploy/components/monitoring/prometheusrule.yaml": &operator} {
		data, err := os.ReadFile(path)
		check(t, err)
		check(t, yaml.Unmarshal(data, into))
	}
	if plain.Groups == nil || !reflect.DeepEqual(plain.Groups, operator.Spec.Groups) {
		t.Error("deploy/components/monitoring/prometheusrule.yaml has other groups than dashboards/prometheus/rules.yml: copy them")
	}
}

// Every panel has a unit, a description and legends; the watcher's dashboard has all of the original's 19.
func TestPanels(t *testing.T) {
	originals := 0
	for _, b := range boards(t) {
		titles := map[string]bool{}
		for _, p := range b.Panels {
			if p.FieldConfig.Defaults.Unit == "" || p.Description == "" || len(p.Targets) == 0 {
				t.Errorf("%s, %s: want a unit, a description and queries", b.Title, p.Title)
			}
			for _, q := range p.Targets {
				if (p.Type == "stat") != strings.Contains(q.Expr, "$__range") && p.FieldConfig.Defaults.Unit != "bool_yes_no" {
					t.Errorf("%s, %s: totals of the time shown are numbers, everything else is a chart", b.Title, p.Title)
				}
				if q.LegendFormat == "" {
					t.Errorf("%s, %s: %s has no legend", b.Title, p.Title, q.Expr)
				}
			}
			if titles[p.row+p.Title] {
				t.Errorf("%s, %s: two panels of this title", b.Title, p.Title)
			}
			titles[p.row+p.Title] = true
			if strings.HasSuffix(p.row, ", as bcs-k8s-watch names them") {
				originals++
			}
		}
	}
	if originals != 19 {
		t.Errorf("%d panels answer the 19 of bcs-k8s-watch's dashboard", originals)
	}
}

// docs is where links of runbooks lead.
const docs = "https://github.com/watchbench/watchbench/blob/main/docs/"

// Every alert has a severity, a summary, and a runbook whose section exists.
func TestRunbooks(t *testing.T) {
	_, alerts := rules(t)
	for _, a := range alerts {
		if a.Labels["severity"] == "" || a.Annotations["summary"] == "" || a.Annotations["runbook"] == "" {
			t.Errorf("%s: want severity, summary, and a runbook: what it means and what to do", a.Alert)
		}
		page, section, _ := strings.Cut(strings.TrimPrefix(a.Annotations["runbook_url"], docs), "#")
		b, err := os.ReadFile(filepath.Join("../docs", page))
		if err != nil {
			t.Errorf("%s: %v", a.Alert, err)
		}
		if !sections(b)[section] {
			t.Errorf("%s: %s has no section %s", a.Alert, page, section)
		}
	}
}

var notInAnchor = regexp.MustCompile(`[^a-z0-9_ -]`)

// sections are the anchors of a Markdown page.
func sections(page []byte) map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "#") {
			title := strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#")))
			all[strings.ReplaceAll(notInAnchor.ReplaceAllString(title, ""), " ", "-")] = true
		}
	}
	return all
}
