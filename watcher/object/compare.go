package object

import "bytes"

// HeartbeatPaths change in a Node that only reports that it is alive. "*" is any index.
var HeartbeatPaths = [][]string{
	{"metadata", "resourceVersion"},
	managedFieldsPath,
	{"status", "conditions", "*", "lastHeartbeatTime"},
}

// EqualIgnoring reports whether a and b are the same bytes apart from the fields that the paths name; "*" is any key or
// index. The apiserver writes keys in a fixed order, so equal objects have equal bytes. Text that is not JSON is
// never equal.
func EqualIgnoring(a, b []byte, paths [][]string) bool {
	cutA, err := findCuts(a, paths, wild)
	if err != nil {
		return false
	}
	cutB, err := findCuts(b, paths, wild)
	if err != nil {
		return false
	}
	return len(a)-total(cutA) == len(b)-total(cutB) && bytes.Equal(without(a, cutA), without(b, cutB))
}
