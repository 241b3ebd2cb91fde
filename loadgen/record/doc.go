// Package record writes what a list and a watch of chosen resources return into a trace.
//
// Objects pass as the JSON that the apiserver sent, not decoded. What is kept in memory is
// one page of a list, one event, and for each live object its name, uid and version (about
// 250 bytes), so a recording may take hours.
//
//  1. Every event that the watch delivers is in the trace, in the order of its resource.
//     A watch that ends is resumed from the last version seen, bookmarks included.
//  2. Where that version is too old (410), a gap is marked, the resource listed again and
//     the difference written, so that a replay ends in the same state.
//  3. The data of Secrets and ConfigMaps are never written; see package pseudonym.
//  4. Nothing is written to the cluster.
package record
