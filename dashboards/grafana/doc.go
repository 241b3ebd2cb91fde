// Package grafana holds the Grafana dashboards for k8s-watch, for a bench run and for
// storagemock. The JSON files in this directory are generated from it:
//
//	go test ./dashboards/... -update
//
// It promises:
//
//  1. Metric names are those of internal/metric.
//  2. Every panel has a unit, a description, and a legend for each of its queries.
//  3. The dashboard of the watcher answers what each of the 19 panels of bcs-k8s-watch's
//     own dashboard asks, under the same labels, for either watcher: Origin says which. Where
//     the original's query is broken, it is mended, and the description says how.
package grafana
