// Package prometheus holds what a Prometheus server needs to watch k8s-watch and
// storagemock: the scrape configuration, recording rules and alert rules. The YAML files
// in this directory are generated from it:
//
//	go test ./dashboards/... -update
//
// It promises:
//
//  1. Metric names are those of internal/metric.
//  2. Every series keeps cluster_id and job, so that several clusters in one Prometheus
//     stay apart: cluster_id is a label of the target, where a metric has none.
//  3. Timing changes how long a rule looks back and waits, never what it compares.
package prometheus
