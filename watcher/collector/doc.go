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
//     first list is left to Settings.First if that takes it over. An answer other than a
//     list is an error, never an empty list.
//  4. Memory is the cached objects and one read buffer per kind. Nothing is
//     queued here: a Sink that blocks holds back that kind's connection and no other's.
//  5. A field that is masked never enters the store. An object that cannot be masked
//     is neither cached nor sent.
//  6. An object that cannot be decoded is skipped, named in the log and counted; the rest of
//     its kind is collected. Neither a list nor Repair deletes what it may be: the object of
//     its name or, if its name cannot be read, any of its namespace, or of the kind if that
//     cannot be read either. Only a DELETED that can be read does.
//  7. No redirect of the apiserver is followed: the token goes nowhere else.
//  8. What a watch has lost is found by a comparison with the apiserver and handed over in
//     order with the watch. An apiserver that was restored to an earlier version is noticed
//     after a broken watch; its list is then taken, whatever its version. See Verify.
//  9. With a shard nothing is kept or handed over of another shard's objects, whether or not the apiserver leaves them
//     out, and that may change at any time. An object that cannot be decoded counts in every shard.
//
// 10. Run returns after every goroutine that it started has ended.
//
// It does not promise that a Sink sees each intermediate state: the apiserver
// itself leaves states out when a watch resumes by a list.
package collector
