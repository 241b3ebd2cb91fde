// Package model predicts what queues in front of a storage carry: Little's law, the skew of a
// hash, the knee of a storage, the backlog of a burst and the universal scalability law. It
// is pure: no I/O, no clock, and the same input gives the same output.
//
// Promises:
//
//  1. Rates are per second, and count what the caller counts: requests or events.
//  2. What the data does not support is refused with a *Refusal, which says why; no figure
//     is made up.
//  3. What is an approximation is called one, in its name or its comment.
//
// What each formula says, and where it is from, is in docs/capacity-model.md.
package model

import "fmt"

// Reason is why a model says nothing.
type Reason string

// Reasons.
const (
	TooFew      Reason = "too few points"
	PoorFit     Reason = "the points do not follow the law"
	NoPeak      Reason = "no peak within the measured range"
	NotRising   Reason = "no rising part"
	NotFlat     Reason = "no flat part"
	Overloaded  Reason = "overloaded"
	OutOfDomain Reason = "outside the model's domain"
)

// Refusal says why a model gives no answer.
type Refusal struct {
	Reason Reason
	Detail string
}

func (r *Refusal) Error() string { return string(r.Reason) + ": " + r.Detail }

func refuse(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{reason, fmt.Sprintf(format, args...)}
}
