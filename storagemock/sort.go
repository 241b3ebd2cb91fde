package storagemock

import (
	"cmp"
	"maps"
	"slices"

	"github.com/watchbench/watchbench/storagemock/query"
	"github.com/watchbench/watchbench/storagemock/store"
)

// sortDocuments orders by the paths of a multi-cluster query: 1 rises, -1 falls.
// Without any it is by identifier, falling, as on the real server. The order of
// several paths is their alphabetical one: a JSON object has none.
func sortDocuments(docs []*store.Record, by map[string]int) {
	if len(by) == 0 {
		by = map[string]int{"_id": -1}
	}
	paths := slices.Sorted(maps.Keys(by))
	value := func(d *store.Record, path string) []byte {
		for v := range query.ParsePath(path).Values(d) {
			return v
		}
		return nil
	}
	slices.SortStableFunc(docs, func(a, b *store.Record) int {
		for _, p := range paths {
			c := cmp.Compare(string(value(a, p)), string(value(b, p)))
			if n, ok := query.Compare(value(a, p), value(b, p)); ok {
				c = n
			}
			if c != 0 {
				return c * cmp.Compare(by[p], 0)
			}
		}
		return 0
	})
}
