package apisim_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/loadgen/apisim"
)

// TestUIDsSpread: uids have the form of drawn ones, are the same for a seed, and fall into shards evenly.
func TestUIDsSpread(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$`)
	s, again := newServer(t, apisim.Config{Seed: 7}), newServer(t, apisim.Config{Seed: 7})
	seen, of := map[string]bool{}, make([]int, 4)
	for i := range 4000 {
		uid := put(t, s, fmt.Sprint("ns/", i), "").UID
		if !form.MatchString(uid) || seen[uid] || uid != put(t, again, fmt.Sprint("ns/", i), "").UID {
			t.Fatalf("%q", uid)
		}
		seen[uid] = true
		for shard, r := range kubeapi.Split(4, kubeapi.ByUID) {
			if r.Holds("", "", uid) {
				of[shard]++
			}
		}
	}
	for _, n := range of {
		if n < 850 || n > 1150 {
			t.Errorf("4 shards have %v of 4000", of)
		}
	}
}
