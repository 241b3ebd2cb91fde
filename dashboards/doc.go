// Package dashboards has only tests of its folders: grafana and prometheus are edited by hand, docs/metrics.md has
// every metric, and every query and rule works on what real processes export.
package dashboards
