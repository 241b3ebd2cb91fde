// Package readers reads Pods from a Kubernetes-style endpoint as many programs would: GETs and LISTs at a seeded
// open-loop rate, watches, and receivers of webhooks. It judges nothing: what it saw is in a record, which package
// scenarios/assess judges.
//
// It promises:
//
//  1. Queries have intended times, drawn by the seed, that no answer delays. One that finds all connections busy is
//     sent late and keeps its intended time.
//  2. A query has Items only if its body is complete and valid, a GET only if it is the object asked for.
//  3. Each watch is a connection of its own. One that ends is opened again from the version of its last event or
//     bookmark; after a 410, from that of a list.
//  4. A watch of its own, the control, goes straight to the apiserver from before the others, so the record has what
//     happened.
//  5. A receiver answers 2xx only to a delivery whose body it has read whole.
//
// HTTP/1.1 is used throughout: HTTP/2 would have all share one connection, which separate programs do not.
package readers
