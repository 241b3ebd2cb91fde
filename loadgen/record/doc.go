// Package record writes what a list and a watch of chosen resources return into a file, a trace, and reads it.
//
// Recording:
//
//  1. Every event that the watch delivers is in the trace, in the order of its resource, with times that never go back.
//     A watch that ends is resumed from the last version seen, bookmarks included.
//  2. Where that version is too old (410), or a list was aborted, a GAP is marked, then the difference between the last
//     known state and a new list as frames with Inferred set, in the order of the list, then SYNCED with its version,
//     or another GAP. So the state after it is exact; states between are missing. An inferred DELETED holds apiVersion,
//     kind and the metadata that identifies the object only, and the resourceVersion of the list.
//  3. Nothing is written to the cluster. What is kept in memory is one page of a list, one event, and for each live
//     object its name, uid and version (about 250 bytes), so a recording may take hours.
//
// The file is JSON lines, compressed with zstd: the header, the frames, and last the number of frames. Per resource,
// INITIAL frames come first, then SYNCED with the resourceVersion of that list, then what the watch sent. One that was
// cut anywhere reads up to the cut, and the reader says so with ErrTruncated. Other damage is an error, at the end of
// the damaged zstd frame at the latest. resourceVersions of several resources need not be comparable.
//
// What is not for other eyes:
//
//  1. The values of a Secret's and a ConfigMap's data, of both kinds the last applied configuration, and a Secret's
//     annotations become fillers, which show whether two values are equal and about how long they are. A Secret's keys
//     are pseudonyms, in its managedFields too.
//  2. If all is anonymised, so do environment values, arguments, commands, headers and all annotations. Any other text
//     is split into words, runs of letters and digits. A word of the vocabulary (field names and kinds of the
//     Kubernetes API, its enumerations, the words of its well-known labels) stays, any other one becomes another word
//     of the same length, with a lower-case letter where there was one, an upper-case one, a digit. No two words share
//     one, in values and in keys, so whatever referred to something still does.
//  3. Timestamps, quantities, percentages, resourceVersions and numbers stay where the API has a field of that type;
//     elsewhere, as in custom resources, they are words, and the digits of a number become others.
//  4. Without the salt, which is made for one file and never written, a word cannot be found by trying likely ones.
//     Learning what one pseudonym means reveals that word only.
//
// Not promised: that nothing can be guessed. Shapes, equality, times, counts and the vocabulary show, see
// docs/record.md; a word of one or two characters has few pseudonyms.
package record
