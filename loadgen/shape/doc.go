// Package shape builds the objects that a plan's operations write: eleven kinds that
// look like those of a real cluster, filled to a size.
//
// It promises:
//
//  1. Object and Request are functions of the operation, the uids and the intended time:
//     the same operation gives an equal object.
//  2. Target.Bytes is the JSON size of the object at its fullest (a ready pod) as the
//     apiserver serves it, managedFields included unless it is Stripped, within 5 %, and
//     kept between the kind's least size and what the apiserver takes (MaxBytes).
//     EndpointSlice and Lease follow from their content.
//  3. Served is the object as JSON after the operations so far, managedFields included.
//     They are computed by the library that the apiserver uses and are kept by structure,
//     not by object.
//  4. What is kept belongs to live targets and is dropped with Op.Last.
//
// Served equals the answer of a real apiserver (v1.36) to the same requests, field by field,
// except for the order of managedFields of one second: TestServedIsWhatTheAPIServerServes sends a
// plan of all kinds and compares. The least sizes have no optional content: a ready pod of one
// container about 5 KB, an Event 1.4 KB, of which 0.3 KB are the run's label and annotations. A
// ready pod of 12 KB has 57 % of its size when it is created, 97 % when the kubelet has begun,
// 106 % when its containers have ended; readiness gates make up what a kubelet's status does not,
// and larger pods grow less.
//
// It does not promise true times in the status of an object: all times of a status
// are the intended time of the operation that wrote it, or half a minute before; only a
// Job's start stays, as the apiserver demands. Two writers in one second may differ from a
// real apiserver in which of them owns a time. Nor does observedGeneration count scalings.
//
// Objects share parts with each other and must not be changed.
package shape
