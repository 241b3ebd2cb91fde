package history

import (
	"fmt"
	"slices"
)

// Difference names an object of which storage does not hold what the apiserver does; empty if there is none. Storage
// may have a Lease of a younger version: nodes renew theirs after the apiserver was read, too.
func Difference(apiserver, storage []StateRecord) string {
	have := make(map[Key]StateRecord, len(storage))
	for _, r := range storage {
		have[r.Key()] = r
	}
	for _, w := range apiserver {
		s, there := have[w.Key()]
		delete(have, w.Key())
		switch {
		case !there:
			return fmt.Sprintf("%s/%s/%s is not in storage", w.Kind, w.Namespace, w.Name)
		case s.UID == w.UID && w.Kind == "Lease" && s.ResourceVersion > w.ResourceVersion:
		case s.UID != w.UID || s.Digest != w.Digest:
			return fmt.Sprintf("%s/%s/%s: storage holds uid %s version %d, the apiserver uid %s version %d, or another content",
				w.Kind, w.Namespace, w.Name, s.UID, s.ResourceVersion, w.UID, w.ResourceVersion)
		}
	}
	var left []string
	for id := range have {
		left = append(left, fmt.Sprintf("%s/%s/%s", id.Kind, id.Namespace, id.Name))
	}
	if len(left) == 0 {
		return ""
	}
	slices.Sort(left)
	return left[0] + " is in storage, the apiserver serves no such object"
}
