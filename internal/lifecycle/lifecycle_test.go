package lifecycle

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
)

func TestProducersEndBeforeConsumers(t *testing.T) {
	var mu sync.Mutex // guards order
	var order []string
	stage := func(name string) Stage {
		return Stage{name, func(ctx context.Context) error {
			<-ctx.Done()
			mu.Lock()
			defer mu.Unlock()
			order = append(order, name)
			return nil
		}}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Run(ctx, stage("storage"), stage("pipeline"), stage("collector")); err != nil {
		t.Fatal(err)
	}
	if want := []string{"collector", "pipeline", "storage"}; !slices.Equal(order, want) {
		t.Errorf("ended in order %v, want %v", order, want)
	}
}

func TestFailureEndsAll(t *testing.T) {
	wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for _, tc := range []struct {
		name string
		err  error
		want string
	}{
		{"failure", errors.New("port in use"), "server: port in use"},
		{"ends unasked", nil, "server: ended unasked"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := Run(t.Context(), Stage{"a", wait}, Stage{"server", func(context.Context) error { return tc.err }}, Stage{"b", wait})
			if err == nil || err.Error() != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// An end at once cancels all stages before any of them has ended, and tells them so.
func TestAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var all sync.WaitGroup
	all.Add(3)
	stage := func(name string) Stage {
		return Stage{name, func(ctx context.Context) error {
			<-ctx.Done()
			if !EndedAtOnce(ctx) {
				t.Errorf("%s: %v", name, context.Cause(ctx))
			}
			all.Done()
			all.Wait() // for the others
			return nil
		}}
	}
	cancel(AtOnce(errors.New("reason")))
	if err := Run(ctx, stage("storage"), stage("pipeline"), stage("collector")); err != nil {
		t.Error(err)
	}
	orderly, end := context.WithCancel(t.Context())
	end()
	if EndedAtOnce(orderly) {
		t.Error("an orderly end")
	}
}
