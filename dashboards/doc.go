// Package dashboards holds nothing but tests over its folders: docs/metrics.md has every
// metric, and every query and rule works on what real processes export.
package dashboards
