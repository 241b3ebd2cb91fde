package dashboards

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	selected  = regexp.MustCompile(`([a-zA-Z_:]\w*)(?:\{|\[)`)
	grouped   = regexp.MustCompile(`by \(([^)]*)\)`)
	shown     = regexp.MustCompile(`\{\{(\w+)\}\}`)
	ours      = regexp.MustCompile(`(^|[^\w:])((?:k8swatch|bcs_k8s_watch|bkbcs_k8swatch|storagemock)_\w+)`)
	histogram = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// Every query reads metrics that are exported, groups by labels that they have, and shows
// in its legend labels that it groups by.
func TestLabels(t *testing.T) {
	labels := map[string]string{}
	for _, e := range exported(t) {
		labels[e.name] = e.labels
	}
	try := func(what, expr, legend string) {
		have := []string{"cluster_id", "job", "instance", "le", "shard"} // of the target, of histograms, and of what is per shard
		for _, m := range selected.FindAllStringSubmatch(expr, -1) {
			of, known := labels[histogram.ReplaceAllString(m[1], "")]
			if !known && !ofEvery(m[1]) {
				t.Errorf("%s: nothing exports %s", what, m[1])
			}
			have = append(have, strings.Split(strings.ReplaceAll(of, "`", ""), ", ")...)
		}
		var by []string
		for _, m := range grouped.FindAllStringSubmatch(expr, -1) {
			for label := range strings.SplitSeq(m[1], ", ") {
				if by = append(by, label); !slices.Contains(have, label) {
					t.Errorf("%s: no metric of %s has the label %s", what, expr, label)
				}
			}
		}
		for _, m := range shown.FindAllStringSubmatch(legend, -1) {
			if !slices.Contains(by, m[1]) {
				t.Errorf("%s: the legend shows %s, by which the query does not group", what, m[1])
			}
		}
	}
	for _, b := range boards(t) {
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				try(b.Title+", "+p.Title, q.Expr, q.LegendFormat)
			}
		}
	}
	records, alerts := rules(t)
	for _, r := range append(records, alerts...) {
		if strings.Contains(r.Expr, "[") { // others read metrics without a selector
			try(r.Record+r.Alert, r.Expr, "")
		}
		for _, m := range ours.FindAllStringSubmatch(r.Expr, -1) {
			if _, known := labels[histogram.ReplaceAllString(m[2], "")]; !known {
				t.Errorf("%s: nothing exports %s", r.Record+r.Alert, m[2])
			}
		}
	}
}
