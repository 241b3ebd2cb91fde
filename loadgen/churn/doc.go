// Package churn executes a plan against an apiserver and keeps account of it.
//
// Promises:
//
//  1. Every write request of the plan is recorded in the op log, each attempt once,
//     with its intended, actual and answered time and the resourceVersion it made.
//  2. The operations of one pod are sent one after the other, each only after the
//     former was acknowledged. If one is given up, the rest of that pod's life is
//     skipped and counted; if the pod is gone by then, its deletion is recorded, with
//     the times between which it went; likewise for a pod that goes at once although its
//     deletion has a grace period. The patches of a burst on a hot pod are sent at once,
//     and nothing is skipped if they fail.
//  3. An operation that is sent late shows its lag; nothing is sent twice or left
//     out to catch up.
//  4. Everything that is created carries the label watchbench.dev/run with the run's
//     id, and lives in namespaces of the run or, being cluster-scoped, has the
//     run's id in its name. Teardown deletes these objects and no others: it checks
//     label and uid first.
//  5. Pods are bound to nodes of the run, which no kubelet serves and no scheduler
//     offers to others, and name a scheduler that does not exist, so that nothing
//     else acts on them.
//
// It does not promise to reach the load that the plan asks for; Stats has the load that
// it did reach.
//
// The order of calls is New, Prepare, Heartbeat (in a goroutine, up to Teardown),
// Warmup, Load, Teardown, Close.
package churn
