// Package pseudonym takes out of Kubernetes objects what is not for other eyes, and keeps
// their shape: sizes, relations and the course of their fields.
//
// A text is split into words, runs of letters and digits. A word of the vocabulary (field
// names and kinds of the Kubernetes API, its enumerations, the words of its well-known
// labels) stays, any other one becomes another word of the same length, with a lower-case
// letter where there was one, an upper-case one, a digit. What holds:
//
//  1. The same word has the same pseudonym throughout, in values and in keys, and no two
//     short words share one. So whatever referred to something still does: the uid of an
//     owner, a selector and its labels, a nodeName, the name of a ReplicaSet and the prefix
//     of its pods' names.
//  2. Environment values, arguments, commands, annotations' values and the data of
//     ConfigMaps are replaced whole, words of the vocabulary included.
//  3. Addresses remain addresses and uids remain uids. Timestamps, resourceVersions and
//     quantities of resources stay, as do numbers that are not texts.
//  4. Without the salt, which is made for one file and never written, a word cannot be
//     found by trying likely ones. Whoever knows what one pseudonym stands for has learnt
//     that word only.
//
// Not promised: that nothing can be guessed. Lengths, how often a word comes, times and
// numbers such as ports show; a word of one or two characters has few pseudonyms.
//
// Secrets and ConfigMaps get more, whether or not the rest is anonymised; see Mask.
package pseudonym
