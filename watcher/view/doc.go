// Package view gives ordered access to a collector's cache of one kind: sorted, at a version, by an index, and as the
// changes since a version. Queries, subscriptions and relations read it. Objects are the collector's, never copies.
//
// It promises:
//
//  1. A Snapshot is the state after exactly the changes up to its version. It never changes.
//  2. A Cursor yields every change after its start, once and in order, or ErrExpired. A slow reader costs the others
//     nothing: it falls behind the window and expires.
//  3. What the collector calls (Changed, Replaced, Advance) never blocks, never reads an object's content, and takes
//     the time of a tree's update, however many read.
//  4. Memory beside the objects is a pointer an object, the window, which is bounded by changes and by bytes, and the
//     indexes in use.
//
// A list that differs from what was cached, after 410, starts a new window, as in the apiserver's watch cache:
// versions from before expire. Cursors that follow differences instead, see FollowAll, go on. A kind that moves to
// another version of its API ends the view of the former one.
package view
