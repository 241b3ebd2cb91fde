package grafana

import (
	"fmt"
	"strings"
)

// chosen selects what the variables name.
const chosen = `cluster_id=~"$cluster",job=~"$job",instance=~"$instance"`

// span is how far rates look back: Grafana makes it four scrapes at least.
const span = "$__rate_interval"

// of selects a metric's series, those with the further matchers only.
func of(metric string, matchers ...string) string {
	return metric + "{" + strings.Join(append([]string{chosen}, matchers...), ",") + "}"
}

func rate(metric string, matchers ...string) string {
	return fmt.Sprintf("rate(%s[%s])", of(metric, matchers...), span)
}

func increase(metric string, matchers ...string) string {
	return fmt.Sprintf("increase(%s[%s])", of(metric, matchers...), span)
}

// inRange is the increase over all that the dashboard shows.
func inRange(metric string, matchers ...string) string {
	return fmt.Sprintf("increase(%s[$__range])", of(metric, matchers...))
}

func sum(labels, expr string) string { return fmt.Sprintf("sum by (%s) (%s)", labels, expr) }
func top(labels, expr string) string { return fmt.Sprintf("max by (%s) (%s)", labels, expr) }

// per divides, and shows a gap where the divisor is 0.
func per(a, b string) string { return fmt.Sprintf("%s / (%s > 0)", a, b) }

// mean is that of a histogram over the last span, by labels.
func mean(labels, histogram string) string {
	return per(sum(labels, rate(histogram+"_sum")), sum(labels, rate(histogram+"_count")))
}

func quantile(q float64, labels, histogram string) string {
	return fmt.Sprintf("histogram_quantile(%g, %s)", q, sum(labels+", le", rate(histogram+"_bucket")))
}

// quantiles are three percentiles of a histogram by cluster.
func quantiles(histogram string) (all []Query) {
	for _, q := range []struct {
		at   float64
		name string
	}{{0.5, "p50"}, {0.9, "p90"}, {0.99, "p99"}} {
		all = append(all, Query{quantile(q.at, "cluster_id", histogram), "{{cluster_id}} " + q.name})
	}
	return all
}

// one query by labels, with their values as legend.
func one(expr, labels string) []Query { return []Query{{expr, legend(labels)}} }

// legend shows the values of the labels.
func legend(labels string) string {
	var all []string
	for l := range strings.SplitSeq(labels, ", ") {
		all = append(all, "{{"+l+"}}")
	}
	return strings.Join(all, " ")
}

// summed is one query of a metric by cluster and a label.
func summed(label, metric string) []Query {
	return one(sum("cluster_id, "+label, of(metric)), "cluster_id, "+label)
}

// rated is the rate of a counter by cluster and labels.
func rated(labels, metric string) []Query {
	return one(sum("cluster_id, "+labels, rate(metric)), "cluster_id, "+labels)
}
