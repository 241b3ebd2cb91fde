// Package kperf reads the replay profiles of kperf (github.com/Azure/kperf, version 1 of
// the format) and turns their writes into the trace that a watch of them would give.
//
// A profile is a list of requests with their times; what the apiserver answered is not in
// it. So the trace is what an apiserver makes of them that was empty before:
//
//  1. CREATE adds an object, APPLY adds or changes one, PATCH changes one (a strategic
//     merge patch for built-in kinds, a merge patch for others, as kperf sends them),
//     DELETE and DELETECOLLECTION remove. An APPLY merges; who owns which field is not
//     followed. A deletion is at once: there are no grace periods and no finalizers.
//  2. GET, LIST and WATCH change nothing and are counted, as are requests that the
//     apiserver would refuse (a CREATE of what is there, a PATCH or DELETE of what is
//     not) and those for subresources other than status and scale.
//  3. Names, uids, versions and times that an apiserver would give are the same for the
//     same profile.
//  4. A profile with a mistake is refused as a whole: unknown fields, unknown verbs, times
//     that go back, bodies that are no objects.
package kperf
