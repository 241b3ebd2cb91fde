// Package alert is the Alertor: it delivers Warning Events of Pods that
// somebody owns, through bcs-health (contract §6).
//
// It promises:
//
//  1. Observe never blocks: there is a queue of QueueLen alerts, and what finds it full
//     is dropped and counted.
//  2. The same warning about the same Pod is delivered once per convergence window.
//  3. A delivery that fails is tried again with growing pauses, at most Tries times.
//  4. Only Events that happened after the Alertor was made are delivered, so that a
//     restart does not repeat the past hour; the others are counted. Setting the clock
//     changes nothing about that.
package alert
