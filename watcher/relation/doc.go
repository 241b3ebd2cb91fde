// Package relation answers which objects belong together: owners, claims and volumes, Services and their Pods, and
// what a Pod uses. It reads the views of the kinds, by indexes that it makes when they are first needed.
//
// It promises:
//
//  1. An edge is shown only if the object that holds the reference is there. What it names and what is not there, or
//     is not what is meant, is a node that says so; a claim and a volume must name one another.
//  2. Of each kind, an answer shows one state, whose resourceVersion it names. Kinds are read one after another: what
//     was made in between may look as if it were not there.
//  3. What could not be looked into is named, by type of edge. A type without gaps is complete within the depth,
//     apart from what only the content of Secrets would show: those are never opened.
//  4. A user learns of no object that he may not list, except the start, which he must be allowed to get, and what an
//     object that he may read names.
//  5. A kind is held only while a query reads it, so that one idle time, that of watches, decides how long it is
//     followed. Indexes stay for some minutes after their last use, or until their View is replaced; never does the
//     collector wait for one.
package relation
