// Package reading judges readers by their record: queries, watches and deliveries. The control watch, straight from
// the apiserver, shows what happened; it is checked against the op log.
//
//   - R1 answers: a 200 is a complete and valid body with what was asked for, unless the reader cut it off at the end,
//     and a LIST has at least the Pods that existed all the time.
//   - R2 watches: every change comes once, in order, as it happened, and before a bookmark of its version. What a watch
//     skips that begins anew after a 410 is not missed.
//   - R3 webhooks: every change is delivered, signed, the versions of an object in order.
//
// Only a 200 with the right answer counts as done, so errors are not in the latencies. Readers that did
// less than the limit of the scenario, or saw nothing, make a cell invalid.
package reading
