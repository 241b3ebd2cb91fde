package pipeline_test

import (
	"context"
	"fmt"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// printer is a storage that prints what it is sent.
type printer struct{}

func (printer) Send(_ context.Context, e pipeline.Event) error {
	fmt.Println(e.Key, e.ResourceVersion)
	return nil
}

func Example() {
	config := pipeline.Default()
	config.Strategy = pipeline.Single
	p, err := pipeline.New(config, pipeline.Settings{Sender: printer{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	for version := uint64(1); version <= 3; version++ {
		_ = p.Enqueue(ctx, pipeline.Event{
			Action: pipeline.Put, ResourceVersion: version,
			Key: object.Key{Kind: "Pod", Namespace: "default", Name: "web-0"},
		})
	}
	stop()         // Run drains what is queued
	_ = p.Run(ctx) // and returns
	fmt.Println(p.Stats().Sent, "sent")
	// Output:
	// Pod/default/web-0 1
	// Pod/default/web-0 2
	// Pod/default/web-0 3
	// 3 sent
}
