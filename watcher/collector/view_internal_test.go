package collector

import (
	"fmt"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
)

// BenchmarkUpdate is what a change costs the reflector's goroutine behind the decoder: with
// nobody, with a view, and with one that a reader follows and takes snapshots of.
func BenchmarkUpdate(b *testing.B) {
	const pods = 10_000
	for _, name := range []string{"none", "view", "read"} {
		b.Run(name, func(b *testing.B) {
			m, err := newMetrics(nil)
			if err != nil {
				b.Fatal(err)
			}
			c := &Collector{metrics: m, logger: discard, sink: Discard}
			if name != "none" {
				c.view = func(Resource) *view.View { return view.New(view.Config{}) }
			}
			s := c.newKind(Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}).store
			s.ctx = b.Context()
			raw := make([]byte, 1500)
			of := func(i, version int) *item {
				return &item{received: time.Unix(0, 1), obj: &object.Object{
					Key: object.Key{Kind: "Pod", Namespace: fmt.Sprint("team-", i%20), Name: fmt.Sprint("web-", i)},
					UID: fmt.Sprint(i), ResourceVersion: uint64(version), Raw: raw,
				}}
			}
			list := make([]any, pods)
			for i := range list {
				list[i] = of(i, 1)
			}
			if err := s.Replace(list, "1"); err != nil {
				b.Fatal(err)
			}
			changes := make([]*item, b.N)
			for i := range changes {
				changes[i] = of(i*7919%pods, i+2)
			}
			v := s.view.Load()
			b.ReportAllocs()
			b.ResetTimer()
			for i, it := range changes {
				if err := s.Update(it); err != nil {
					b.Fatal(err)
				}
				if name == "read" && i%10 == 0 {
					if _, err := v.Snapshot(); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
