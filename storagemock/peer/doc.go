// Package peer mocks the other servers a watcher talks to: netservice, which it
// reads IP pools from, and the receivers of its alarms, bcs-health and
// Prometheus Alertmanager. They share the mock's latencies and faults.
//
// Faults select requests by kind: Pool for netservice, Alarm for bcs-health,
// Alert for Alertmanager.
package peer
