// Package trace is the file format of a recorded cluster: what a list and a watch of
// chosen resources returned, object by object and in the order of receipt.
//
// A file is JSON lines, compressed with zstd: the header, the frames, and last the number of frames. It can be read up
// to what was flushed last.
//
//  1. Frames come in the order in which they were received, with times that never go back.
//  2. Per resource, the recorder writes INITIAL frames first, then SYNCED with the resourceVersion of that list, then
//     what the watch sent, unchanged but for what it masks.
//  3. Where the watch could not go on (410), or a list was aborted, it writes a GAP, then the difference between the
//     last known state and a new list as frames with Inferred set, in the order of the list, then SYNCED with its
//     version, or another GAP. So the state after it is exact; states between are missing. An inferred DELETED holds
//     apiVersion, kind and the metadata that identifies the object only, and the resourceVersion of the list.
//  4. A file that was cut anywhere reads up to the cut, and the reader says so with ErrTruncated. Other damage is an
//     error, at the end of the damaged zstd frame at the latest.
//
// Not promised: that the resourceVersions of several resources are comparable, and
// anything about the time between the apiserver's sending and the receipt.
package trace
