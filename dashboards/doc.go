// Package dashboards holds nothing but tests over its folders: the files of grafana and prometheus are edited by hand,
// docs/metrics.md has every metric, and every query and rule works on what real processes export.
package dashboards
