// Package reading judges those who read, by their record: queries, watches and deliveries. What happened is what the
// control watch saw, straight from the apiserver; it is held against the op log.
//
//   - R1 answers: a 200 is a complete and valid body with what was asked for, unless the reader cut it off at the end,
//     and a LIST has at least the Pods that existed all the time.
//   - R2 watches: every change comes once, in order, as it happened, and before a bookmark of its version. What a watch
//     skips that begins anew after a 410 is not missed.
//   - R3 webhooks: the versions of an object are delivered in order, and to receivers without faults every change is.
//
// A query counts as done only with a 200 and a right answer, so latencies are those of answers alone. Readers that did
// less than the limit of the scenario, or saw nothing, make a cell invalid.
package reading
