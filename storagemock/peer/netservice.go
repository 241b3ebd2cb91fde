package peer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/watchbench/watchbench/storagemock/http1"
)

// Pool is one IP pool as netservice describes it. All but net, mask and gateway
// are left out when empty.
type Pool struct {
	Net       string   `json:"net"`
	Mask      int      `json:"mask"`
	Gateway   string   `json:"gateway"`
	Cluster   string   `json:"cluster,omitempty"`
	Hosts     []string `json:"hosts,omitempty"`
	Available []string `json:"available,omitempty"`
	Reserved  []string `json:"reserved,omitempty"`
	Active    []string `json:"active,omitempty"`
	Created   string   `json:"created,omitempty"` // 2006-01-02 15:04:05
	Updated   string   `json:"update,omitempty"`
}

// Statistic counts the addresses of a cluster's pools.
type Statistic struct {
	Pools     int `json:"poolnum"`
	Active    int `json:"activeip"`
	Available int `json:"availableip"`
	Reserved  int `json:"reservedip"`
}

// Numbers of the answer's type field.
const (
	typePool      = 5
	typeStatistic = 9 // also of every error
)

// netAnswer is netservice's envelope.
type netAnswer struct {
	Type      int        `json:"type"`
	Code      int        `json:"code"`
	Message   string     `json:"message"`
	Pool      []Pool     `json:"pool,omitempty"`
	Statistic *Statistic `json:"poolStatic,omitempty"`
	Data      any        `json:"data,omitempty"`
}

// Netservice answers GET /v1/pool/{cluster}, with ?info=detail and without.
type Netservice struct {
	*server

	mu    sync.Mutex // guards pools
	pools []Pool
}

// DefaultPools belong to whatever cluster asks.
func DefaultPools() []Pool {
	const day = "2024-05-01 08:00:00"
	return []Pool{
		{
			Net: "10.0.0.0", Mask: 24, Gateway: "10.0.0.1", Hosts: []string{"192.0.2.1"}, Created: day, Updated: day,
			Available: addresses("10.0.0.", 20, 6), Reserved: addresses("10.0.0.", 50, 1), Active: addresses("10.0.0.", 10, 2),
		},
		{
			Net: "10.0.1.0", Mask: 24, Gateway: "10.0.1.1", Hosts: []string{"192.0.2.2"}, Created: day, Updated: day,
			Available: addresses("10.0.1.", 20, 4), Active: addresses("10.0.1.", 10, 1),
		},
	}
}

func addresses(prefix string, from, n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprint(prefix, from+i))
	}
	return out
}

// NewNetservice returns a netservice with DefaultPools.
func NewNetservice(b Behaviour) *Netservice {
	n := &Netservice{pools: DefaultPools()}
	n.server = newServer(b, n.serve)
	return n
}

// SetPools replaces the pools by those of a JSON list. A pool without a cluster
// belongs to every cluster.
func (n *Netservice) SetPools(raw []byte) error {
	var pools []Pool
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&pools); err != nil {
		return fmt.Errorf("pools: want a list of {net, mask, gateway, cluster, hosts, available, reserved, active, created, update}: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pools = pools
	return nil
}

// Pools are those in use.
func (n *Netservice) Pools() []Pool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]Pool(nil), n.pools...)
}

func (n *Netservice) serve(r *http1.Request) answer {
	cluster, ok := strings.CutPrefix(r.Path, "/v1/pool/")
	if !ok || cluster == "" || strings.Contains(cluster, "/") {
		return notFound(KindPool)
	}
	if r.Method != http.MethodGet {
		return wrongMethod(KindPool)
	}
	q, err := url.ParseQuery(r.Query)
	info := q.Get("info")
	var a netAnswer
	switch {
	case err != nil || info != "" && info != "detail":
		a = netAnswer{Type: typeStatistic, Code: 1, Message: fmt.Sprintf("the query %q: want none, or info=detail", r.Query)}
	default:
		a = n.query(cluster, info == "detail")
	}
	b, err := json.Marshal(a)
	if err != nil { // never for these types
		b = []byte(`{"type":9,"code":1,"message":"marshal"}`)
	}
	return answer{kind: KindPool, status: 200, contentType: "application/json", body: b}
}

func (n *Netservice) query(cluster string, detail bool) netAnswer {
	var of []Pool
	st := Statistic{}
	for _, p := range n.Pools() {
		if p.Cluster != "" && p.Cluster != cluster {
			continue
		}
		p.Cluster = cluster
		of = append(of, p)
		st.Pools++
		st.Active += len(p.Active)
		st.Available += len(p.Available)
		st.Reserved += len(p.Reserved)
	}
	switch {
	case len(of) == 0:
		return netAnswer{Type: typeStatistic, Code: 1, Message: "no pool under " + cluster}
	case detail:
		return netAnswer{Type: typePool, Message: "query net pool under " + cluster + " succ", Pool: of, Data: of}
	}
	return netAnswer{Type: typeStatistic, Message: "query statistic info succ", Statistic: &st, Data: st}
}
