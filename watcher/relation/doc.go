// Package relation answers which objects belong together: owners, claims and volumes,
// Services and their Pods, and what a Pod uses. It reads the views of the kinds, by
// indexes that it makes when they are first needed.
//
// It promises:
//
//  1. An edge is in an answer only if the objects at both its ends say so, or the one that
//     holds the reference names an object that is there; a reference to what is not there
//     leads to a node that says so.
//  2. Of each kind, an answer shows one state, whose resourceVersion it names. Kinds are read
//     one after another: what was made in between may look as if it were not there.
//  3. What could not be looked into is named, by type of edge. A type without gaps is complete
//     within the depth, apart from what only the content of Secrets would show: those are
//     never opened.
//  4. A user learns of no object that he may not list, except the start, which he must be
//     allowed to get, and what an object that he may read names.
//  5. A kind is held only while a query reads it, so that its own idle time decides how long
//     it is followed. Indexes stay for Config.IndexIdle after their last use, which is far
//     more often than a kind changes hands; they are kept up to date from the view, by
//     readers and by nobody who writes.
package relation
