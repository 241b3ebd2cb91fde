// Package pseudonym takes out of Kubernetes objects what is not for other eyes, and keeps
// their shape: relations, the course of their fields and, roughly, sizes.
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
//  2. Environment values, arguments, commands, headers, annotations' values and the data of
//     ConfigMaps and Secrets become fillers, which show whether two values are equal and
//     about how long they are.
//  3. Addresses remain addresses and uids remain uids. Timestamps stay. Quantities,
//     percentages, resourceVersions and numbers stay where the API has a field of that type;
//     elsewhere, as in custom resources, the digits of a number become others.
//  4. Without the salt, which is made for one file and never written, a word cannot be
//     found by trying likely ones. Learning what one pseudonym means reveals that word only.
//
// Not promised: that nothing can be guessed. Shapes, equality, times, counts and the
// vocabulary show, see docs/record.md; a word of one or two characters has few pseudonyms.
//
// Secrets and ConfigMaps get more, whether or not the rest is anonymised; see Mask.
package pseudonym
