package grafana

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/watchbench/watchbench/dashboards/prometheus"
	"github.com/watchbench/watchbench/internal/metric"
)

// Units, by Grafana's names.
const (
	seconds = "s"
	perSec  = "cps"
	number  = "short"
	share   = "percentunit"
	byteN   = "bytes"
	byteSec = "Bps"
	cores   = "none"
	yesNo   = "bool_yes_no"
)

// Dashboard is one file.
type Dashboard struct {
	File, UID, Title string
	Jobs             []string
	Rows             []Row
}

// Row is a title over panels.
type Row struct {
	Title  string
	Panels []Panel
}

// Panel is one chart.
type Panel struct {
	Title, Text, Unit string
	Queries           []Query
	// Bad is where values turn bad, shown as a red line; 0 is nowhere. BadBelow: those under
	// it are.
	Bad      float64
	BadBelow bool
	// Stat shows the last value as a number.
	Stat bool
	// Origin is the number of the panel of bcs-k8s-watch's dashboard that this one answers.
	Origin int
}

// Query is one expression and the legend of its series.
type Query struct{ Expr, Legend string }

// Layout of a dashboard: three panels to a line of Grafana's 24 columns.
const (
	columns     = 24
	panelWidth  = 8
	panelHeight = 8
)

type object = map[string]any

// JSON is the file for Grafana.
func (d Dashboard) JSON() ([]byte, error) {
	var panels []object
	id, y := 0, 0
	for _, r := range d.Rows {
		id++
		panels = append(panels, object{"id": id, "type": "row", "title": r.Title, "collapsed": false, "panels": []object{}, "gridPos": object{"x": 0, "y": y, "w": columns, "h": 1}})
		y++
		for i, p := range r.Panels {
			id++
			at := object{"x": i % (columns / panelWidth) * panelWidth, "y": y + i/(columns/panelWidth)*panelHeight, "w": panelWidth, "h": panelHeight}
			panels = append(panels, p.json(id, at))
		}
		y += (len(r.Panels) + 2) / 3 * panelHeight
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	err := e.Encode(object{
		"uid": d.UID, "title": d.Title, "tags": []string{"watchbench"}, "schemaVersion": 39, "version": 1, "editable": true,
		"refresh": "10s", "time": object{"from": "now-1h", "to": "now"}, "timezone": "browser", "graphTooltip": 1,
		"templating": object{"list": d.variables()}, "panels": panels,
	})
	if err != nil {
		return nil, fmt.Errorf("dashboard %s: %w", d.Title, err)
	}
	return b.Bytes(), nil
}

var source = object{"type": "prometheus", "uid": "${datasource}"}

// variables choose what is shown. All of a label includes series without it.
func (d Dashboard) variables() []object {
	list := []object{{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}}
	selector := fmt.Sprintf(`%s{job=~"%s"`, metric.TargetUp, strings.Join(d.Jobs, "|"))
	for _, v := range []struct{ name, label string }{{"cluster", "cluster_id"}, {"job", "job"}, {"instance", "instance"}} {
		list = append(list, object{
			"name": v.name, "label": v.label, "type": "query", "datasource": source, "refresh": 2, "sort": 1,
			"query": object{"query": fmt.Sprintf("label_values(%s}, %s)", selector, v.label), "refId": v.name},
			"multi": true, "includeAll": true, "allValue": ".*",
			"current": object{"text": "All", "value": "$__all"},
		})
		selector += fmt.Sprintf(`,%s=~"$%s"`, v.label, v.name)
	}
	return list
}

func (p Panel) json(id int, at object) object {
	var targets []object
	for i, q := range p.Queries {
		targets = append(targets, object{"refId": string(rune('A' + i)), "expr": q.Expr, "legendFormat": q.Legend, "datasource": source, "instant": p.Stat, "range": !p.Stat})
	}
	steps := []object{{"color": "green", "value": nil}}
	style := object{"mode": "off"}
	switch {
	case p.BadBelow:
		steps = []object{{"color": "red", "value": nil}, {"color": "green", "value": p.Bad}}
		style = object{"mode": "line"}
	case p.Bad != 0:
		steps = append(steps, object{"color": "red", "value": p.Bad})
		style = object{"mode": "line"}
	}
	defaults := object{"unit": p.Unit, "min": 0, "thresholds": object{"mode": "absolute", "steps": steps}}
	typ, options := "timeseries", object{"legend": object{"displayMode": "list", "placement": "bottom"}, "tooltip": object{"mode": "multi", "sort": "desc"}}
	if p.Stat {
		typ, options = "stat", object{"reduceOptions": object{"calcs": []string{"lastNotNull"}}, "colorMode": "value"}
	} else {
		defaults["custom"] = object{"fillOpacity": 10, "thresholdsStyle": style}
	}
	return object{
		"id": id, "type": typ, "title": p.Title, "description": p.Text, "datasource": source, "gridPos": at,
		"targets": targets, "fieldConfig": object{"defaults": defaults, "overrides": []object{}}, "options": options,
	}
}

// All are the dashboards.
func All() []Dashboard {
	watcher, mock := prometheus.WatcherJob, prometheus.StorageJob
	return []Dashboard{
		{File: "watcher.json", UID: "watchbench-watcher", Title: "k8s-watch", Jobs: []string{watcher}, Rows: watcherRows()},
		{File: "bench.json", UID: "watchbench-bench", Title: "watchbench: bench run", Jobs: []string{watcher, mock}, Rows: benchRows()},
		{File: "storage.json", UID: "watchbench-storage", Title: "storagemock", Jobs: []string{mock}, Rows: storageRows()},
	}
}
