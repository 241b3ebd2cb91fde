// Package query serves the watcher's cache as a read-only Kubernetes API: discovery, GET, LIST and WATCH, for
// kubectl, client-go and any other client; and the relations between objects.
//
// It promises:
//
//  1. A user learns nothing of what they may not read, and starts no watch upstream for it: every request is first
//     authorised with all of its attributes.
//  2. A list is the state at one version, sorted as the apiserver sorts. Its pages are of the same state, or the list
//     has expired (410).
//  3. A watch yields every change behind its start once, in order, as its selectors see it, or ends with 410. A slow
//     one is cut and delays no other.
//  4. A cache that is not complete does not answer: 503 instead of an empty list.
//  5. Selectors see the cache, which lacks masked fields. A selector that cannot be evaluated is refused; it never
//     selects more.
//  6. What reads many objects works within a seat, in slices: others keep the processor, and each user a share of the
//     seats. Clients must read it at a minimum rate.
//  7. Objects are sent as they are cached. None is decoded, except for the cells of tables.
//
// It does not promise that an answer is as fresh as the apiserver's: headers say how old it may be, and a
// resourceVersion in the request waits for that version.
package query
