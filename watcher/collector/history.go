package collector

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
)

// errOlderList refuses a list that is older than what was seen of its kind.
var errOlderList = errors.New("the list is older than what was seen before: it comes from an apiserver that is behind")

// maxBehind is how long older lists are refused where nothing is verified. Then they are
// believed: the cluster may have been restored from a backup.
const maxBehind = time.Minute

// history knows which versions of a kind were seen, and refuses older ones. store.order guards what is not atomic.
type history struct {
	// latest is the version up to which the kind's history was seen, and behind since
	// when only older lists come; the zero time is never.
	latest          uint64
	behind, refused time.Time // the first and the last of those lists
	patient         bool      // older lists are refused until the verifier allows one

	// unordered is set while lists have no version, or one below their own objects': versions
	// cannot be compared then.
	unordered bool

	// restored is set until the first list of a restored cluster: cached objects may belong to
	// a lost history and have the same versions.
	restored atomic.Bool
	// afresh is set until the next list, which must be consistent and is accepted at any version.
	afresh atomic.Bool
}

// replayed reports whether a watch event about an object that is not in the store, or there under another uid, was seen
// before: an apiserver with an older cache that resumes a watch delivers changes again, also of objects that are gone.
func (h *history) replayed(old, fresh *object.Object) bool {
	seen := h.latest
	h.latest = max(seen, fresh.ResourceVersion)
	switch {
	case old != nil && (old.UID == fresh.UID || fresh.UID == ""):
		return false
	case h.unordered || fresh.ResourceVersion == 0:
		return false
	}
	return fresh.ResourceVersion < seen || old != nil && fresh.ResourceVersion < old.ResourceVersion
}

// admit decides about a list of that version; highest is the highest version among its objects.
// believed is set for an older one that is accepted because no newer one came.
func (h *history) admit(version string, highest uint64) (believed bool, err error) {
	v, _ := strconv.ParseUint(version, 10, 64) // 0: no number
	if h.unordered = v == 0 || v < highest; h.unordered {
		return false, nil
	}
	if v < h.latest {
		now := time.Now()
		if h.refused.Before(now.Add(-maxBehind)) { // the first, or an outage lies between
			h.behind = now
		}
		h.refused = now
		believed = !h.afresh.Load() // else the verifier has said so
		if believed && (h.patient || now.Sub(h.behind) < maxBehind) {
			return false, fmt.Errorf("version %d, seen %d: %w", v, h.latest, errOlderList)
		}
		h.restored.Store(true)
	}
	h.latest, h.refused = v, time.Time{}
	return believed, nil
}
