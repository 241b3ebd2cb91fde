package store

import (
	"fmt"
	"slices"
)

// refuses returns why a Put of an object with that metadata must be refused, "" if it need not be.
//
// The resource versions of one kind are comparable, and those of a later incarnation of a name are all higher than
// those of an earlier one. So what is below the highest version stored under the key is old, whatever its uid; and a
// uid that was deleted or superseded never comes back.
func (sl *slot) refuses(m Meta) string {
	if m.UID != "" && slices.Contains(sl.past, m.UID) {
		return fmt.Sprintf("the object with uid %s was deleted", m.UID)
	}
	if m.ResourceVersion == 0 || m.ResourceVersion >= sl.highest {
		return ""
	}
	if sl.rec != nil && sl.rec.UID == m.UID {
		return fmt.Sprintf("the stored resourceVersion %d is newer than %d", sl.highest, m.ResourceVersion)
	}
	return fmt.Sprintf("resourceVersion %d of uid %s is older than %d, which was stored under this name",
		m.ResourceVersion, m.UID, sl.highest)
}

// remember notes a uid that must not be stored under this key again.
func (sl *slot) remember(uid string) {
	if uid == "" || slices.Contains(sl.past, uid) {
		return
	}
	if len(sl.past) >= maxPastUIDs {
		sl.past = slices.Delete(sl.past, 0, 1)
	}
	sl.past = append(sl.past, uid)
}
