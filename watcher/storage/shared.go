package storage

import (
	"slices"

	"github.com/watchbench/watchbench/watcher/object"
)

// What another client of the same storage shares with this one.

// EventRecord renders the body of E11 for one Event (mapping: contract §1.6).
func EventRecord(cluster string, raw []byte) ([]byte, error) { return eventRecord(cluster, raw) }

// HandlerLabel is the value of the metric label "handler" of a write to that key.
func HandlerLabel(k object.Key) string { return handlerOf(k) }

// LatencyBuckets are the bounds of the original's histograms, in seconds.
func LatencyBuckets() []float64 { return slices.Clone(buckets) }
