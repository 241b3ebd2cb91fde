// Package check judges a watcher by recorded history: what the load generator asked of the apiserver (op log), what
// reached storage (ledger), and what both sides held in the end (state). It knows nothing of the watcher's code and
// trusts none of its counters without comparing them with the record.
//
// # Use
//
//	h, err := check.Load(dir)               // a cell's folder, live or saved
//	v, err := check.Judge(ctx, h, figures)  // err: the evidence itself is unusable
//	v.Checks["G2"]                          // result.Check for every guarantee G1…G14
//	v.Lost, v.Reordered                     // nil: unknown
//
// Judge reads the record once: the final states, the op log, the ledger. Observers, such as measure.Figures, see the
// two logs on the way, once. What G7 and G8 are judged by may depend on the record too; History.Bounds computes it once
// the logs have been read.
//
// What a run writes, beside the files of package history:
//
//	history.SaveJSON(dir, history.FileMeta, meta)
//	rec, err := check.Digest(check.Raw{Side: history.SideApiserver, APIVersion: "v1", Kind: "Pod", JSON: raw}, rules)
//	rec, err := check.Digest(check.Raw{Side: history.SideStorage, Kind: row.Kind, Namespace: row.Namespace,
//		Name: row.Name, JSON: row.Data}, rules)
//
// Package history lists the files of a cell's folder. history.json and the ledger must be there; the NDJSON files may
// also be there uncompressed, without the ".zst".
//
// The judge holds something for each operation and each key, and nothing for a request. Five million requests with op
// log and final states, figures included, take at most 800 MiB and 20 s on two cores (BenchmarkJudge).
//
// # What a verdict promises
//
//  1. A check that looked at nothing is not-judged, never passed.
//  2. A failed check names its counterexamples, of the first 50 violations: the key, the versions and the requests with
//     their sequence numbers and times (UTC), and the fields where only the content is wrong.
//  3. The order checks G2 to G5 say how many pairs of states could have been swapped (Power); limits.minPower asks for
//     a least number of them.
//  4. In a cut cell G1 and the final uid of G5 are not judged; the others are judged over what was sent. Where the
//     cluster was restored to an earlier state (history.MarkRestored), the order checks judge what was sent before
//     that, and G6 counts no single versions: those that were undone may have been received or not. G1 is judged in
//     full.
//  5. A violation is only reported when the record leaves no lawful explanation. Where the record is ambiguous (a
//     request in flight while counters were read) the check allows exactly the ambiguous amount and says so in Note.
//  6. Storage in faithful mode has no preconditions, so it may apply a request over newer state when the client no
//     longer knows of it. That is the watcher's fault if the newer state was sent earlier, or within the fence: 5 s, or
//     the storage timeout if that is longer, after the client gave up, by the ledger. It is storage's if the newer
//     state was sent later than that, if the request had been answered before, or if the process that sent it had ended
//     and another begun; it then violates G2–G4 and G10 only if the state, or a newer one, was not brought back within
//     one synchronizer period and 2 s. Without a synchronizer nothing repairs. A cut cell does not show that, so it is
//     not judged there. In conditional mode all of these violate at once.
//
// # The guarantees
//
//   - G1 converge: after the load, storage holds what the apiserver holds, filtered and masked: equal sets of (kind,
//     namespace, name, uid, digest). What was sent and overwritten or deleted since equals what the apiserver served at
//     that version, as far as both are recorded.
//   - G2 ordered: the applied resourceVersion of one (key, uid) never goes down.
//   - G3 no stale write: no PUT older than the live record it replaces, across uids too; no DELETE of an object that is
//     still alive.
//   - G4 no resurrection: after the DELETE of a uid no PUT of it, nor of an older one.
//   - G5 exact recreate: a name deleted and created again ends with the new uid, and no late DELETE of the old one
//     removes it.
//   - G6 conservation: received = sent + coalesced + filtered + parked + queued + dropped; sent equals the ledger;
//     every acknowledged version is in the ledger or accounted for; dropped is 0 unless dropping was asked for, and
//     coalesced without a reason where the strategy sends every state.
//   - G7 bounded: memory, goroutines and sockets stay under their ceilings and return to the baseline.
//   - G8 isolation: freshness p99 of others ≤ 2 × baseline.
//   - G9 restart-safe: G1 after restarts, deletions while down included.
//   - G10 fenced: a request of unknown outcome overwrites no later write of its key. Where replicas elect, each request
//     leaves the one that holds the Lease, with shards that of the object's shard.
//   - G11 idempotent replay: a request that is applied again, by a retry or a fault, takes nothing back. (That
//     replaying a whole suffix leaves the same state is shown by the metamorphic test, not by one history.)
//   - G12 self-healing: tampered records are repaired within one synchronizer period.
//   - G13 secrecy: no canary in any captured byte.
//   - G14 honest telemetry: counters equal the record.
package check
