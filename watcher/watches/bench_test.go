package watches_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/watches"
)

// BenchmarkOpen is what a query pays for a kind that is followed already, among 40 that the
// pipeline collects.
func BenchmarkOpen(b *testing.B) {
	api := newCluster(b)
	var resources []collector.Resource
	for i := range 40 {
		r := watches.GVR{Group: fmt.Sprintf("group%d.io", i), Version: "v1", Resource: "things"}
		api.serve(r, "Thing", true)
		resources = append(resources, collector.Resource{Group: r.Group, Version: "v1", Name: "things", Kind: "Thing", KeyKind: fmt.Sprint("Thing.", i), Namespaced: true})
	}
	col := collect(b, api.listen(), collector.Config{Resources: resources})
	h := run(b, api, api.listen(), func(_ *watches.Config, s *watches.Settings) {
		s.Collected = col
	})
	<-h.Known()
	for name, r := range map[string]watches.GVR{"pipeline": {Group: "group20.io", Version: "v1", Resource: "things"}, "lazy": podsGVR} {
		h.open(r).Close()
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					w, err := h.Open(context.Background(), r, watches.Wait{})
					if err != nil {
						b.Error(err)
						return
					}
					w.Close()
				}
			})
		})
	}
}
