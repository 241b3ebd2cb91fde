// Package legacy imitates bcs-k8s-watch: it sends a cluster's changes to storage by its rules, faults
// included, so that "before" can be measured, and the checks be seen to fail, where its binary is not
// at hand. cmd/watchlegacy runs it; k8s-watch has nothing of it.
//
// It was written from the contract alone (the paragraphs are named); none of the original's code is in
// it. What is re-created:
//
//  1. Per kind an eventQueue of keys, built of client-go's workqueue and its rate limiter: keys that
//     wait are merged, and five workers read the object's state when the key's turn comes. Present is
//     a PUT, absent a DELETE (§2.1).
//  2. The workers put copies into handler queues: one per kind, or N for Pods and 4N for Events, chosen
//     by the original's hash. A put waits for room for one second; then the item is dropped, counted
//     and forgotten (§2.5).
//  3. An item is done once it is in a handler queue. From there on nothing merges it and nothing keeps
//     a later state of the key back.
//  4. One goroutine per handler queue sends, strictly one item after the other. It works until the
//     queue was empty for a second, and starts anew every 500 ms.
//  5. A failed item of a kind whose name starts with "Event" is lost, and its handler rests until its
//     next start. Any other goes back as a key after 0 to 4999 ms, for ever, and is read from the cache
//     again (§2.5).
//  6. Each request has a TCP connection of its own and five seconds for it. Status 400 and 500 are
//     resent within the call, four attempts one second apart; errors of the connection go on to the
//     next endpoint, in random order; of an answer only the field "result" counts (§1.2, §1.4).
//  7. A pod whose ReplicaSet cannot be looked up yet waits 1 s, 2 s … 32 s (§2.4).
//  8. The synchronizer compares names, not content, once, 30 s after the start and only in namespaces
//     that exist (§3).
//  9. The end of Run is at once: what is queued is lost (§8).
//
// Lists, watches, filters and masks are this repository's collector, so memory and CPU say nothing
// about the original. Not re-created are custom resources that are defined later, netservice and alerts, the search for
// storage in ZooKeeper, tokens, and the Writer queue, which only the original's synchronizer uses.
//
// Events are accounted as in package pipeline, so that G6 and G14 can be judged: received = sent +
// coalesced + dropped + queued, where coalesced are merges in the eventQueue and dropped are full
// queues, lost Events and the end of Run.
package legacy
