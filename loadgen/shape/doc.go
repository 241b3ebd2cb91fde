// Package shape builds the objects that a profile's operations write: eleven kinds that
// look like those of a real cluster, filled to a size.
//
// It promises:
//
//  1. Object and Request are functions of the operation, the uids and the intended time:
//     the same operation gives an equal object.
//  2. Target.Bytes is the JSON size of the object at its fullest (a ready pod) as the
//     apiserver serves it, managedFields included, within 5 %. What is smaller than the
//     kind's least size gets the least size; what is larger than the apiserver takes gets
//     the most it takes (MaxBytes). EndpointSlice and Lease follow from their content.
//  3. Served is the object as JSON after the operations so far, managedFields included.
//     They are computed by the library that the apiserver uses and are kept by structure,
//     not by object.
//  4. What is kept belongs to live targets and is dropped with Op.Last.
//
// It does not promise that Served equals a real apiserver's answer in every field: what
// strategies and admission add is written down here, and nothing holds it against a real
// one yet. Nor does it promise that the status of an object tells true times: all times of a status
// are the intended time of the operation that wrote it.
//
// Objects share parts with each other and must not be changed.
package shape
