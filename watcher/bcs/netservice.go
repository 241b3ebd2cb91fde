package bcs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/call"
	"github.com/watchbench/watchbench/watcher/object"
)

// The two kinds in storage; a record's name is the kind, "-" and the cluster id.
const (
	KindStatic = "IPPoolStatic"
	KindDetail = "IPPoolStaticDetail"
)

// Numbers of an answer's type.
const (
	typePool   = 5
	typeStatic = 9
)

// Times of the original.
const (
	netServicePeriod  = 60 * time.Second
	netServiceTimeout = 20 * time.Second
	// again is the pause after a round that failed; the original waits a netServicePeriod.
	again = 5 * time.Second
)

const maxPool = 64 << 20

// Store takes an object.
type Store interface {
	Put(ctx context.Context, o *object.Object) error
}

// NetServiceSettings are passed by code.
type NetServiceSettings struct {
	ClusterID string
	Store     Store
	Client    *http.Client
	Logger    *slog.Logger
}

// NetService polls one of the servers given to SetServers, chosen anew each time.
type NetService struct {
	set     NetServiceSettings
	servers atomic.Pointer[[]string]
	known   chan struct{} // closed when the first server is known
	once    sync.Once     // closes known
	running atomic.Bool
}

// NewNetService starts nothing.
func NewNetService(s NetServiceSettings) *NetService {
	return &NetService{set: s, known: make(chan struct{})}
}

// SetServers names the servers as scheme://host:port. An empty list is ignored:
// what was known stays (contract §8).
func (w *NetService) SetServers(addrs []string) {
	if len(addrs) > 0 {
		w.servers.Store(&addrs)
		w.once.Do(func() { close(w.known) })
	}
}

// Run polls from the moment a server is known until ctx ends.
func (w *NetService) Run(ctx context.Context) error {
	if !w.running.CompareAndSwap(false, true) {
		return errors.New("netservice: Run called twice")
	}
	select {
	case <-ctx.Done():
		return nil
	case <-w.known:
	}
	var wg sync.WaitGroup
	for _, p := range []poll{{KindStatic, "", typeStatic}, {KindDetail, "?info=detail", typePool}} {
		wg.Go(func() { w.loop(ctx, p) })
	}
	wg.Wait()
	return nil
}

type poll struct {
	kind, query string
	want        int
}

func (w *NetService) loop(ctx context.Context, p poll) {
	for {
		next := netServicePeriod
		if err := w.poll(ctx, p); err != nil && ctx.Err() == nil {
			next = again
			w.set.Logger.Warn("IP pool not stored", "kind", p.kind, "error", err, "again_in", next)
		}
		if lifecycle.Pause(ctx, next) != nil {
			return
		}
	}
}

func (w *NetService) poll(ctx context.Context, p poll) error {
	data, err := w.fetch(ctx, p)
	if err != nil {
		return err
	}
	return w.set.Store.Put(ctx, &object.Object{
		Key: object.Key{Kind: p.kind, Name: p.kind + "-" + w.set.ClusterID},
		Raw: data,
	})
}

type answer struct {
	Type    int             `json:"type"`
	Code    *int            `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (w *NetService) fetch(ctx context.Context, p poll) (json.RawMessage, error) {
	servers := *w.servers.Load()
	ctx, cancel := context.WithTimeout(ctx, netServiceTimeout)
	defer cancel()
	status, body, err := call.Do(ctx, w.set.Client, call.Request{
		Method: http.MethodGet, URL: servers[rand.IntN(len(servers))] + "/v1/pool/" + w.set.ClusterID + p.query,
		Header: map[string]string{"BCS-ClusterID": w.set.ClusterID}, Limit: maxPool,
	})
	if err != nil {
		return nil, err
	}
	return accept(body, status, p.want)
}

// accept takes only an answer of the wanted type that reports success and has data.
func accept(body []byte, status, want int) (json.RawMessage, error) {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, fmt.Errorf("HTTP %d and no netservice answer: %w", status, err)
	}
	switch {
	case a.Code == nil || *a.Code != 0:
		return nil, fmt.Errorf("netservice refused: %s", a.Message)
	case a.Type != want:
		return nil, fmt.Errorf("answer of type %d, want %d", a.Type, want)
	case len(a.Data) == 0 || string(a.Data) == "null":
		return nil, errors.New("answer without data")
	}
	return a.Data, nil
}
