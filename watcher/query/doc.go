// Package query serves what the watcher caches as a Kubernetes API that can only be read:
// discovery, GET, LIST and WATCH, for kubectl, client-go and any other client; and the
// relations between objects.
//
// It promises:
//
//  1. Whoever may not read something does not learn of it, nor starts a watch upstream:
//     every request is authorised with all of its attributes first.
//  2. A list is the state at one version, sorted as the apiserver sorts. Its pages are of
//     the same state, or the list has expired (410).
//  3. A watch yields every change behind its start once, in order, as its selectors see it,
//     or ends with 410. A slow one is cut; it holds up nobody.
//  4. A cache that is not complete does not answer: 503 instead of an empty list.
//  5. Selectors see what is cached, which masked fields are not in. A selector that cannot be
//     evaluated is refused; it never selects more.
//  6. What reads many objects works within a seat, in slices: others keep the processor, and each
//     user a share of the seats. It has to be taken at a minimum rate.
//  7. Objects are sent as they are cached. None is decoded, except for the cells of tables.
//
// It does not promise that an answer is as fresh as the apiserver's: headers say how old
// it may be, and a resourceVersion in the request waits for that version.
package query
