// Package collector carries the cluster's objects from the apiserver to the
// pipeline: one client-go reflector per kind, fed by a list and watch client that
// leaves objects as raw JSON, above a store of the latest version of each object.
//
// It promises:
//
//  1. Every change the apiserver delivers is counted as received and either handed
//     to the Sink or counted as filtered with its reason. Nothing else happens to it.
//  2. Of one object, events reach the Sink in the order of the watch, and the store
//     holds at least the state of an event before the Sink sees it.
//  3. After any interruption the difference between the apiserver's list and the
//     store is handed over: what is new or has another version as Put, what is gone
//     as Delete with the uid that was stored. Unchanged objects are not sent again. The
//     first list is left to Settings.First if that takes it over.
//  4. Memory is the cached objects and one read buffer per kind. There is no queue
//     here: a Sink that blocks holds back that kind's connection and no other's.
//  5. A field that is masked never enters the store. An object that cannot be masked
//     is not cached and not sent.
//  6. What a watch has lost is found by a comparison with the apiserver and handed over in
//     order with the watch. An apiserver that was put back to an earlier version is noticed
//     after a watch that broke; then its list is taken, whatever its version. See Verify.
//  7. Run returns after every goroutine that it started has ended.
//
// It does not promise that a Sink sees each intermediate state: the apiserver
// itself leaves states out when a watch resumes by a list.
package collector
