// Package capacity sets the models of scenarios/model beside what a saved run measured.
//
// Promises:
//
//  1. Predictions are made of what was configured, and of the writes in the op log; only
//     fits use what was measured, and are marked so.
//  2. A rate counts as a limit only where it was one: where storage kept up with the load, the
//     rate is the load's, and no model of a limit is held against it.
//  3. What the run has no data for is refused, with the reason.
package capacity

import (
	"github.com/watchbench/watchbench/scenarios/model"
)

// Schema names the format of a Report as JSON.
const Schema = "watchbench/model/v1"

// Report is models and measurements side by side.
type Report struct {
	Schema   string   `json:"schema"`
	Run      string   `json:"run"`
	Scenario string   `json:"scenario"`
	Lines    []Line   `json:"lines"`
	Curves   []Curve  `json:"curves,omitempty"`
	Refused  []string `json:"refused,omitempty"` // which model says nothing, and why
	LeftOut  []string `json:"leftOut,omitempty"` // which cells are not used, and why
}

// Curve is the law that was fitted over the queues of one watcher.
type Curve struct {
	Of     string        `json:"of"` // strategy, and what else tells it apart
	Law    model.Scaling `json:"law"`
	Alpha  [2]float64    `json:"alphaInterval"`
	Beta   [2]float64    `json:"betaInterval"`
	R2     float64       `json:"r2"`
	Peak   *float64      `json:"peakQueues,omitempty"`
	PeakIn *[2]float64   `json:"peakInterval,omitempty"`
	NoPeak string        `json:"noPeak,omitempty"` // why there is none
	Points [][2]float64  `json:"points"`           // queues and the median rate
	Limits [][2]float64  `json:"limits"`           // queues and Little's limit
}
