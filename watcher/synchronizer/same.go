package synchronizer

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/watchbench/watchbench/watcher/object"
)

const (
	kindNode = "Node" // its heartbeats are not sent
	kindPod  = "Pod"  // it is sent with annotations of the watcher's own
)

// Same compares two objects of a kind by their values, without the heartbeats of a Node. Storage need not keep the
// order of keys, nor how a number is written, nor more of it than a double holds.
func Same(kind string, a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var va, vb any
	if json.Unmarshal(a, &va) != nil || json.Unmarshal(b, &vb) != nil {
		return false
	}
	if kind == kindNode {
		for _, path := range object.HeartbeatPaths {
			cut(va, path)
			cut(vb, path)
		}
	}
	return reflect.DeepEqual(va, vb)
}

// cut removes the field that a path names; "*" is any index.
func cut(v any, path []string) {
	switch v := v.(type) {
	case map[string]any:
		if len(path) == 1 {
			delete(v, path[0])
			return
		}
		cut(v[path[0]], path[1:])
	case []any:
		for _, e := range v {
			if path[0] == "*" && len(path) > 1 {
				cut(e, path[1:])
			}
		}
	}
}
