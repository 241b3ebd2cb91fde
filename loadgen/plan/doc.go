// Package plan turns a seed and a short description of load into the operations
// that a generator sends to an apiserver: which object, which step of its life,
// and when.
//
// Promises:
//
//  1. The same Config gives the same operations in the same order with the same
//     ids, names and, in an open loop, the same intended times, on every machine.
//     Nothing that the cluster answers changes the plan.
//  2. The steps of one object are ordered: a step comes after its predecessor in the
//     sequence that carries both (a thread of the closed loop, the one timed
//     sequence of the open loop). The executor of the plan sends it only after the
//     predecessor was acknowledged. The patches of hot pods are the exception: they
//     have no order, neither within a burst nor between bursts, and wait for nothing
//     but, in a closed loop, for the answers to the thread's operations before the
//     burst.
//  3. Operation ids are unique within a run and do not depend on speed.
//  4. A name is reused only after the plan deleted its former bearer.
//
// A closed loop has threads that each send one operation at a time; how far they
// get depends on the cluster. An open loop has a rate; an operation is due at its
// time whether or not the cluster keeps up.
package plan
