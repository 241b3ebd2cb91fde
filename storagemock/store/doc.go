// Package store is the mock's database: documents in collections, one per kind, with soft deletion, natural order,
// server-added fields and retention; events are one of them.
//
// Guarantees:
//
//  1. Put and Delete are atomic, and their commit callback runs before any other change can; so the order of commits is
//     the order of application.
//
//  2. Documents are immutable once stored: what a read returns does not change.
//
//  3. In Faithful mode a Put always wins, as on the real server. It also revives a deleted document, which keeps its
//     identifier and its place in natural order.
//
//  4. In Conditional mode a Put is refused when its uid was deleted or superseded under that key, or when its
//     resourceVersion is lower than the highest one stored under that key. A Put without uid or resourceVersion is not
//     checked.
//
//  5. Memory is bounded by live documents plus MaxDeleted flagged ones and 2 MaxEvents identities of events.
//
//  6. Documents are selected as far as the lists and deletes of bcs-k8s-watch and k8s-watch ask for it: by strings at
//     dotted paths that equal one of several values. As on the real server, a key that contains a dot is out of reach.
//
// Not guaranteed: durability (see Save), transactions over several documents.
package store
